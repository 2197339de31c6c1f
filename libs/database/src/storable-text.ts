/** Text that both databases can store: PostgreSQL refuses NUL, so it becomes its visible symbol; lone surrogates U+FFFD. */
export function storableText(text: string): string {
  return Buffer.from(text.replaceAll('\0', '\u2400')).toString();
}
