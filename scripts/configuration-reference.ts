/*
 * Writes docs/configuration.md from the schema, config/default.yaml and the names of the variables. A test holds the
 * committed file to what this makes.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { z } from 'zod'
import { variableTexts } from '../src/config/env.ts'
import { schema } from '../src/config/schema.ts'
import { readDefaults } from './configuration/defaults.ts'
import { type Row, rowsOf } from './configuration/rows.ts'

const file = (path: string): URL => new URL(`../${path}`, import.meta.url)

const table = (head: string[], rows: string[][]): string =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')

const cell = (text: string): string => text.replaceAll('\n', ' ').replaceAll(/(?<!\\)\|/g, '\\|')

const settingCells = ({ setting, takes, otherwise, is }: Row): string[] => [
  `\`${setting}\``.replaceAll('|', '\\|'),
  cell(takes),
  cell(otherwise),
  cell(is),
]

const intro = `<!-- Made by \`npm run docs:configuration\` from src/config/schema.ts and config/default.yaml. Don't edit. -->
# Configuration

[config/default.yaml](../config/default.yaml) is where every deployment starts; a profile's own file, the file that
\`PORTICO_CONFIG\` names and the variables are laid over it in this order, key by key; lists are replaced whole. Unknown
keys are refused. Durations are milliseconds, sizes bytes.

\`\`\`sh
npx portico config check
\`\`\`

prints the result with its secrets masked, or every fault at once (exit code 2). \`backends\` is taken anew on SIGHUP, or
when the file changes; all else needs a restart.
`

/** The whole page. */
export const configurationReference = (): string => {
  const defaults = readDefaults(readFileSync(file('config/default.yaml'), 'utf8'))
  const { properties = {} } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
  const variables = Object.entries(variableTexts).map(([name, is]) => [`\`${name}\``, cell(is)])
  const sections = Object.entries(properties).flatMap(([name, node]) => {
    if (typeof node !== 'object') return []
    const rows = rowsOf(node, name, [name], defaults).map(settingCells)
    return [`## ${name}\n\n${table(['setting', 'takes', 'default', 'is'], rows)}\n`]
  })
  return [intro, `## Variables\n\n${table(['variable', 'is'], variables)}\n`, ...sections].join('\n')
}

if (import.meta.main) writeFileSync(file('docs/configuration.md'), configurationReference())
