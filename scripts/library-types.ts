/*
 * Writes the declarations of `portico` and `portico/contract` to dist/types. TypeScript drops imports without exported
 * types, so index.d.ts also imports the files that merge declarations.
 */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { methodDeclarations } from './client/declarations.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const types = join(root, 'dist/types')

function declarations(): string[] {
  return readdirSync(types, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.d.ts'))
}
function textOf(name: string): string {
  return readFileSync(join(types, name), 'utf8')
}

/** Paths are relative to dist/types. */
function importsOf(name: string): string[] {
  return [...textOf(name).matchAll(/(?:from |import\(|import )['"](\.[^'"]+)\.ts['"]/g)].map(
    ([, path = '']) => `${join(dirname(name), path)}.d.ts`,
  )
}

function reachable(entries: readonly string[]): ReadonlySet<string> {
  const reached = new Set(entries)
  for (const name of reached) for (const imported of importsOf(name)) reached.add(imported)
  return reached
}

rmSync(types, { recursive: true, force: true })
execFileSync(
  process.execPath,
  [join(root, 'node_modules/typescript/bin/tsc'), '-p', join(root, 'tsconfig.library.json')],
  {
    stdio: 'inherit',
  },
)
// The testing kit returns typed clients.
writeFileSync(join(types, 'client/methods.d.ts'), methodDeclarations())
const merged = declarations()
  .filter((name) =>
    /declare module '[^']+\/(services|codes|notices)\.ts'|interface PorticoEvents \{/.test(textOf(name)),
  )
  .sort()
writeFileSync(
  join(types, 'index.d.ts'),
  ["export * from './portico.ts'", ...merged.map((name) => `import './${name.replace(/\.d\.ts$/, '.ts')}'`), ''].join(
    '\n',
  ),
)
const kept = reachable(['index.d.ts', 'api/contract.d.ts', 'testing/index.d.ts', ...merged])
for (const name of declarations()) if (!kept.has(name)) rmSync(join(types, name))
