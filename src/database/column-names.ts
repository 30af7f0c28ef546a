import { type AliasNode, type ColumnNode, IdentifierNode, PostgresQueryCompiler, SelectionNode } from 'kysely'

/**
 * Column names are in camel case in TypeScript and in snake case in SQL: the compiler writes `createdAt` as
 * `"created_at"`. Names of tables, and the text of a `sql` template, are SQL and stay as they are.
 */
export class ColumnCompiler extends PostgresQueryCompiler {
  protected override visitColumn({ column }: ColumnNode): void {
    this.visitNode(IdentifierNode.create(toSnakeCase(column.name)))
  }

  /** The alias of a selected value names a column, too. Other aliases name tables. */
  protected override visitAlias(node: AliasNode): void {
    const isColumn = this.parentNode && SelectionNode.is(this.parentNode) && IdentifierNode.is(node.alias)
    super.visitAlias(isColumn ? { ...node, alias: IdentifierNode.create(toSnakeCase(node.alias.name)) } : node)
  }
}

/**
 * Renames the fields of a result to camel case, once per statement instead of once per row. Applies to every statement,
 * including `sql` templates. The keys within a jsonb value are data and stay as they are.
 */
export function renameFields(fields: readonly { readonly name: string }[]): void {
  for (const field of fields) if (field.name.includes('_')) Object.assign(field, { name: toCamelCase(field.name) })
}

/** Reverses `toCamelCase` for every name that has a letter after each underscore. */
export const toSnakeCase = remember((name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`))

export const toCamelCase = remember((name) =>
  name.replace(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase()),
)

/** Names come from the source, so there is a limited number of them. */
function remember(convert: (name: string) => string): (name: string) => string {
  const converted = new Map<string, string>()
  return (name) => {
    const known = converted.get(name)
    if (known !== undefined) return known
    const result = convert(name)
    converted.set(name, result)
    return result
  }
}
