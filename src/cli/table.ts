/** Control characters of stored texts could move the cursor of the terminal or begin a line. */
const control = /[\p{C}\p{Zl}\p{Zp}]/gu

export function toLine(text: string): string {
  return `${text.replace(control, ' ')}\n`
}

/** Returns aligned columns, one line per row. The last column has no padding. */
export function toTable(rows: readonly (readonly string[])[]): string {
  const shown = rows.map((row) => row.map((cell) => cell.replace(control, ' ')))
  const widths = shown.reduce<number[]>(
    (all, row) => row.map((cell, column) => Math.max(all[column] ?? 0, cell.length)),
    [],
  )
  const lines = shown.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
  return `${lines.join('\n')}\n`
}
