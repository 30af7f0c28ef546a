import { fileURLToPath } from 'node:url'
import { parseSync } from 'oxc-parser'
import { expect, test } from 'vitest'
import { readSources, type Source } from './check.ts'

/** Functions that are not declared, and private functions above a public one. Arrow functions with a declared type are allowed. */
function misplacedFunctions({ path, text }: Source): string[] {
  const found: string[] = []
  const aboveThePublic: string[] = []
  for (const statement of parseSync(path, text).program.body) {
    const declared = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement
    if (declared?.type === 'VariableDeclaration')
      for (const { id, init } of declared.declarations) {
        if (init?.type !== 'ArrowFunctionExpression' || id.type !== 'Identifier' || id.typeAnnotation) continue
        found.push(`${path}: declare ${id.name} with function`)
      }
    if (declared?.type !== 'FunctionDeclaration') continue
    if (statement.type === 'ExportNamedDeclaration') found.push(...aboveThePublic.splice(0))
    else aboveThePublic.push(`${path}: move ${declared.id?.name} below the public functions`)
  }
  return found
}

test('top-level functions are declarations, public first', () => {
  const sources = readSources(fileURLToPath(new URL('../../src', import.meta.url)))
  expect(sources.flatMap(misplacedFunctions)).toEqual([])
})

test('an arrow function and a helper above its user are found', () => {
  const text = 'const first = () => 1\nfunction helper() {}\nexport function main() {}\nconst typed: Handler = () => 1'
  expect(misplacedFunctions({ path: 'a.ts', text })).toEqual([
    'a.ts: declare first with function',
    'a.ts: move helper below the public functions',
  ])
})
