/** Conditions of a query with their values as parameters: no value ever becomes SQL. */
export class Where {
  private readonly conditions: string[] = [];

  /** Several parts of a query share the list of its values. */
  constructor(readonly params: unknown[] = []) {}

  /** Each `?` of the condition stands for the next value. */
  and(condition: string, ...values: unknown[]): this {
    let next = 0;
    this.conditions.push(condition.replaceAll('?', () => this.param(values[next++])));
    return this;
  }

  /** Null stands for all values. */
  in(column: string, values: readonly unknown[] | null): this {
    if (values === null) return this;
    if (values.length === 0) return this.and('1 = 0');
    return this.and(`${column} IN (${values.map(() => '?').join(', ')})`, ...values);
  }

  notIn(column: string, values: readonly unknown[]): this {
    if (values.length === 0) return this;
    return this.and(`${column} NOT IN (${values.map(() => '?').join(', ')})`, ...values);
  }

  /** Registers a value and returns its placeholder. */
  param(value: unknown): string {
    this.params.push(value);
    return `$${this.params.length}`;
  }

  get sql(): string {
    return this.conditions.length > 0 ? `WHERE ${this.conditions.join(' AND ')}` : '';
  }
}
