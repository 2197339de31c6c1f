/** Rows as CSV (RFC 4180). What a spreadsheet would take for a formula is made a text by a leading quote. */
export function csvOf<T extends object>(columns: readonly (keyof T & string)[], rows: readonly T[]): string {
  const line = (cells: readonly unknown[]): string => cells.map(csvCell).join(',');
  const lines = [line(columns), ...rows.map((row) => line(columns.map((column) => row[column])))];
  return `${lines.join('\r\n')}\r\n`;
}

export function csvCell(value: unknown): string {
  const text =
    typeof value === 'string' ? value : value === null || value === undefined ? '' : JSON.stringify(value);
  const inert = /^[=+\-@\t\r\n\0]/.test(text) && !/^-?\d+(\.\d+)?$/.test(text) ? `'${text}` : text;
  return `"${inert.replaceAll('"', '""')}"`;
}
