/** A line of an export, by column. Amounts and instants are text already. */
export type Row = Readonly<Record<string, string | number | null>>

/** A list as it is exported: its columns in their order, and its rows, read a page at a time. */
export interface Source {
  columns: readonly string[]
  rows: AsyncIterable<Row>
}
