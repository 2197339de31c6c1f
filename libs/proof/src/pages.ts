/** Pages of rows in the order of their ids, until one is not full. */
export async function* pages<Row extends { id: number | string }>(
  read: (after: Row['id']) => Promise<Row[]>,
  first: Row['id'],
  size: number,
): AsyncGenerator<Row[]> {
  for (let after = first; ;) {
    const rows = await read(after);
    yield rows;
    const last = rows.at(-1);
    if (!last || rows.length < size) return;
    after = last.id;
  }
}

/** The same pages, the next of which is read while one is worked on; for who reads nothing else meanwhile. */
export async function* readAhead<Page>(source: AsyncGenerator<Page>): AsyncGenerator<Page> {
  for (let ahead = source.next(); ;) {
    const page = await ahead;
    if (page.done) return;
    ahead = source.next();
    // It is awaited when its turn comes.
    ahead.catch(() => {});
    yield page.value;
  }
}
