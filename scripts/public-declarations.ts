/*
 * Follows names through the generated declaration files, from the exports of the public modules to all types that they
 * reach.
 */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseSync, type Span, type Statement, Visitor } from 'oxc-parser'

/** `file` is relative to the folder and has no `.d.ts`. */
interface Name {
  file: string
  name: string
}

interface DeclarationFile {
  text: string
  declared: Map<string, Span[]>
  imported: Map<string, Name>
  exported: Map<string, Name>
  /** Files of `export * from`. */
  reexported: string[]
  /** An import type names its file. */
  used: { at: number; name: string; file?: string }[]
}

/** Files whose declarations are in other documents: the operations of Portico. */
const describedElsewhere: ReadonlySet<string> = new Set(['contract/index', 'contract/resources'])
/** Large types of zod. The report shows the settings in a readable form instead. */
const shownAsSettings: ReadonlySet<string> = new Set(['config/schema#schema', 'config/schema#Settings'])

export class PublicDeclarations {
  readonly #folder: string
  readonly #files = new Map<string, DeclarationFile>()

  constructor(folder: string) {
    this.#folder = folder
  }

  #read(file: string): DeclarationFile {
    const known = this.#files.get(file)
    if (known) return known
    const path = `${file}.d.ts`
    const text = readFileSync(join(this.#folder, path), 'utf8')
    const { program } = parseSync(path, text)
    const found: DeclarationFile = {
      text,
      declared: new Map(),
      imported: new Map(),
      exported: new Map(),
      reexported: [],
      used: [],
    }
    this.#files.set(file, found)
    /** Undefined for a package. */
    const fileOf = (source: string): string | undefined =>
      source.startsWith('.') ? join(dirname(file), source.replace(/\.ts$/, '')) : undefined

    const declare = (statement: Statement | null, whole: Span): string[] => {
      const names = namesOf(statement)
      for (const name of names) found.declared.set(name, [...(found.declared.get(name) ?? []), whole])
      return names
    }
    for (const statement of program.body) {
      if (statement.type === 'ImportDeclaration') {
        const from = fileOf(statement.source.value)
        for (const specifier of statement.specifiers)
          if (from !== undefined && specifier.type === 'ImportSpecifier')
            found.imported.set(specifier.local.name, { file: from, name: nameOf(specifier.imported) })
      } else if (statement.type === 'ExportAllDeclaration') {
        const from = fileOf(statement.source.value)
        if (from !== undefined) found.reexported.push(from)
      } else if (statement.type === 'ExportNamedDeclaration') {
        for (const name of declare(statement.declaration, statement)) found.exported.set(name, { file, name })
        const from = statement.source ? fileOf(statement.source.value) : file
        for (const { exported, local } of statement.specifiers)
          found.exported.set(nameOf(exported), { file: from ?? '', name: nameOf(local) })
      } else declare(statement, statement)
    }
    new Visitor({
      Identifier: ({ start, name }) => void found.used.push({ at: start, name }),
      TSImportType: ({ start, source, qualifier }) => {
        const from = fileOf(source.value)
        if (from !== undefined && qualifier?.type === 'Identifier')
          found.used.push({ at: start, name: qualifier.name, file: from })
      },
    }).visit(program)
    return found
  }

  exportsOf(file: string): string[] {
    const { exported, reexported } = this.#read(file)
    return [...exported.keys(), ...reexported.flatMap((each) => this.exportsOf(each))].sort()
  }

  /** Undefined if another package declares the name. */
  #resolve({ file, name }: Name): Name | undefined {
    if (file === '') return undefined
    const { declared, exported, imported, reexported } = this.#read(file)
    // A file can export a name that it imports.
    const target = [exported.get(name), imported.get(name)].find(
      (each) => each && (each.file !== file || each.name !== name),
    )
    if (target) return this.#resolve(target)
    if (declared.has(name)) return { file, name }
    for (const each of reexported) {
      const found = this.#resolve({ file: each, name })
      if (found) return found
    }
    return undefined
  }

  #usedBy({ file, name }: Name): Name[] {
    const { declared, used } = this.#read(file)
    const isWithin = (at: number): boolean =>
      declared.get(name)?.some(({ start, end }) => start <= at && at < end) ?? false
    return used
      .filter(({ at }) => isWithin(at))
      .flatMap((each) => this.#resolve({ file: each.file ?? file, name: each.name }) ?? [])
  }

  reachedFrom(modules: readonly string[]): Map<string, string[]> {
    const key = ({ file, name }: Name): string => `${file}#${name}`
    const roots = modules.flatMap((file) => this.exportsOf(file).flatMap((name) => this.#resolve({ file, name }) ?? []))
    const reached = new Map(roots.map((root) => [key(root), root]))
    for (const name of reached.values())
      for (const used of this.#usedBy(name))
        if (!describedElsewhere.has(used.file) && !shownAsSettings.has(key(used))) reached.set(key(used), used)
    const spans = Map.groupBy(reached.values(), ({ file }) => file)
    return new Map(
      [...spans]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([file, names]) => {
          const { declared, text } = this.#read(file)
          const parts = new Set(names.flatMap(({ name }) => declared.get(name) ?? []))
          return [file, [...parts].sort((a, b) => a.start - b.start).map(({ start, end }) => text.slice(start, end))]
        }),
    )
  }
}

/** `declare global` declares the names in its block. */
function namesOf(statement: Statement | null): string[] {
  switch (statement?.type) {
    case 'VariableDeclaration':
      return statement.declarations.flatMap(({ id }) => (id.type === 'Identifier' ? [id.name] : []))
    case 'FunctionDeclaration':
    case 'TSDeclareFunction':
    case 'ClassDeclaration':
      return statement.id ? [statement.id.name] : []
    case 'TSInterfaceDeclaration':
    case 'TSTypeAliasDeclaration':
      return [statement.id.name]
    case 'TSModuleDeclaration':
      return statement.kind === 'global' ? statement.body.body.flatMap(namesOf) : []
    default:
      return []
  }
}

function nameOf(node: { type: string; name?: string; value?: string }): string {
  return node.name ?? node.value ?? ''
}
