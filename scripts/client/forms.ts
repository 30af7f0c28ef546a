/*
 * Writes the entry for forms: the schemas of request bodies by their names in the OpenAPI document, and the codes of coded
 * values and refusals as plain lists.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { codedFamilies, codes } from '../../src/contract/index.ts'
import { listRefusals } from '../../src/contract/policies.ts'
import { resources } from '../../src/contract/resources.ts'
import { type Code, type Operation, operationsIn } from '../../src/kernel/index.ts'
import { codeComponentOf, toPascalCase } from '../../src/openapi/names.ts'
import { type Method, methods } from './methods.ts'

interface Body {
  /** The operation's name in its module. */
  operation: string
  schema: string
  /** Below the root of the package. */
  file: string
}

/** Writes to the folder `client` of the package. */
export function writeForms(folder: string): void {
  writeFileSync(join(folder, 'forms.js'), program())
  writeFileSync(join(folder, 'forms.d.ts'), declarations())
}

const clientBodies = new Set<Operation['body']>(
  Object.values(methods).flatMap((all) => all.map(({ operation }) => operation.body)),
)

/** The imports of resources.ts. */
const contractFiles = new Map(
  [
    ...readFileSync(new URL('../../src/contract/resources.ts', import.meta.url), 'utf8').matchAll(
      /^import \* as (\w+) from '\.\.\/(.+)\.ts'$/gm,
    ),
  ].map(([, owner = '', file = '']) => [owner, file]),
)

/** Without bodies that the catalogue derives from the order types of all domains. */
export const formBodies: readonly Body[] = Object.entries(resources).flatMap(([owner, module]) =>
  operationsIn(module).flatMap(([operation, { body }]) =>
    body instanceof z.ZodType && clientBodies.has(body)
      ? [{ operation, schema: `${toPascalCase(operation)}Request`, file: contractFiles.get(owner) ?? '' }]
      : [],
  ),
)

/** By the name of the list. */
export const codeLists: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries([...codedFamilies.values()].map((family) => [`${family.name}Codes`, family.codes])),
  refusalCodes: codes,
  ...Object.fromEntries([...refusalsByName()].map(([name, refusals]) => [`${name}Refusals`, [...refusals]])),
}

function program(): string {
  const imports = formBodies.map(({ operation, file }) => `import { ${operation} } from '../${file}.js'`)
  const schemas = formBodies.map(
    ({ operation, schema }) => `export const ${schema} = /* @__PURE__ */ bodyOf(${operation})`,
  )
  const lists = Object.entries(codeLists).map(([name, list]) => `export const ${name} = ${JSON.stringify(list)}`)
  return `/* Generated from the contract by scripts/client/forms.ts. */
import './zod-config.js'
${imports.join('\n')}
function bodyOf({ body }) {
  return body
}
${[...schemas, ...lists].join('\n')}
`
}

function declarations(): string {
  const schemas = formBodies.map(
    ({ schema }) =>
      `export type ${schema} = methods.${schema}\nexport declare const ${schema}: ZodType<unknown, ${schema}>`,
  )
  const families = new Map([...codedFamilies.keys()].map((name) => [`${name}Codes`, codeComponentOf(name)]))
  const lists = Object.entries(codeLists).map(([name, list]) => {
    const family = families.get(name)
    const type = family ? `readonly methods.${family}[]` : `readonly ${JSON.stringify(list)}`
    return `export declare const ${name}: ${type}`
  })
  return `/* Generated from the contract by scripts/client/forms.ts. */
import type { ZodType } from 'zod'
import type * as methods from './methods.js'

${[...schemas, ...lists].join('\n')}
`
}

function refusalsByName(): Map<string, Set<Code>> {
  const found = new Map<string, Set<Code>>()
  const all: readonly Method[] = Object.values(methods).flat()
  for (const { name, operation, chainId } of all) {
    const refusals = found.get(name) ?? new Set()
    for (const code of listRefusals(operation, chainId)) refusals.add(code)
    found.set(name, refusals)
  }
  return found
}
