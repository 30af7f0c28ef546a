import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import type { Domain, LoadedDomain } from '../../api/domain.ts'
import { catalogueOf, loadConfigured } from '../../compose/extensions.ts'
import { inPackage, packageVersion } from '../../config/env.ts'
import { ConfigurationError } from '../../config/index.ts'
import { member } from '../../contract/policies.ts'
import { errorCode, type Operation } from '../../kernel/index.ts'
import { type Command, parseOptions, UsageError } from '../command.ts'
import { camelCase, pascalCase, portalTables, replaceNames, singularOf, snakeCase, spellingsOf } from './names.ts'

/** The templates are a working domain with a name of two words, so that each spelling of the name is distinct. */
const templates = inPackage('assets/new-domain')

const NewOptions = z.object({
  name: nameOf('the name'),
  item: nameOf('--item').optional(),
  javascript: z.boolean().default(false),
})

export const newDomain: Command = {
  name: 'new domain',
  argument: 'name',
  summary: 'write a working domain with a test into a new folder',
  help: [
    '  name              the new folder, such as loans or card-orders; an existing one is not changed',
    '  --item name       one entity of the domain (default: the name without its plural s)',
    '  --javascript      write JavaScript instead of TypeScript',
    '',
    'The domain has a table, permissions, texts, a refusal code and the operations create, read and list.',
  ].join('\n'),
  options: { item: { type: 'string' }, javascript: { type: 'boolean' } },
  run: async (values, { domains, print }) => {
    const { name, item = singularOf(name), javascript } = parseOptions(NewOptions, values)
    await assertFree(name, item, domains)
    const files = writeTemplates(name, item, javascript ? 'javascript' : 'typescript')
    const tools = javascript ? 'vitest' : 'vitest typescript @types/node'
    const next = [
      `npm install --ignore-scripts portico && npm install --ignore-scripts --save-dev ${tools}`,
      ...(javascript ? [] : [`npx tsc -p ${name}`]),
      `npx vitest run ${name}`,
      `PORTICO_CONFIG=${name}/portico.yaml npx portico serve`,
    ]
    print(
      { files: files.sort(), next },
      `${[...files.map((file) => `wrote ${file}`), '', 'Next:', ...next.map((line) => `  ${line}`)].join('\n')}\n`,
    )
    return 0
  },
}

function nameOf(option: string) {
  const error = `${option} must be lower-case words, such as loans or card-orders, of 2 to 32 characters`
  return z.string(error).regex(/^(?=.{2,32}$)[a-z]+(-[a-z]+)*$/, error)
}

/** Throws a UsageError that lists every name that is taken. */
async function assertFree(name: string, item: string, domains: readonly Domain[]): Promise<void> {
  const { domains: loaded } = await loadConfigured(domains, { extensions: [], operations: [], domains: {} })
  const table = snakeCase(name)
  const errors = portalTables.has(table) ? [`the store has a table ${table} already`] : []
  try {
    catalogueOf([...loaded, draftOf(name, item)])
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error
    errors.push(...error.errors)
  }
  if (errors.length > 0) throw new UsageError(`choose another name or --item: ${errors.join('; ')}`)
}

/** The declarations of the new domain that could collide with those of another one. */
function draftOf(name: string, item: string): LoadedDomain {
  const id = camelCase(name)
  const operationOf = (verb: string, parts: Pick<Operation, 'method' | 'path'>): Operation => ({
    ...parts,
    id: `${id}.${verb}`,
    chains: ['consumer', 'api'],
    summary: verb,
    policy: { ...member, workspace: 'optional', permission: `${item}:${verb === 'create' ? verb : 'read'}` },
    body: 'none',
    reply: z.null(),
    refuses: [],
  })
  return {
    name: id,
    summary: name,
    operations: {
      [`create${pascalCase(item)}`]: operationOf('create', { method: 'POST', path: `/${name}` }),
      [`read${pascalCase(item)}`]: operationOf('read', { method: 'GET', path: `/${name}/{id}` }),
      [`list${pascalCase(name)}`]: operationOf('list', { method: 'GET', path: `/${name}` }),
    },
    permissions: { workspace: { [item]: ['read', 'create'] } },
    codes: { [`${snakeCase(item).toUpperCase()}.EXISTS`]: { status: 409 } },
    create: () => ({ handlers: {} }),
    source: name,
    isOurs: false,
  }
}

/** Copies the templates into a new folder. Returns the paths of the files. */
function writeTemplates(name: string, item: string, language: 'typescript' | 'javascript'): string[] {
  try {
    mkdirSync(name)
  } catch (error) {
    throw errorCode(error) === 'EEXIST' ? new UsageError(`${name} exists already; nothing was changed`) : error
  }
  const spellings = spellingsOf(name, item, packageVersion())
  return [language, 'both'].flatMap((folder) =>
    readdirSync(join(templates, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => {
        const source = join(entry.parentPath, entry.name)
        const target = join(name, replaceNames(source.slice(join(templates, folder).length), spellings))
        mkdirSync(dirname(target), { recursive: true })
        writeFileSync(target, replaceNames(readFileSync(source, 'utf8'), spellings))
        return target
      }),
  )
}
