import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { bankingDomains } from '../../src/banking/index.ts'
import { defaultLayers, schemaWith } from '../../src/config/domain-settings.ts'
import { readDefaults } from './configuration/defaults.ts'
import { type Row, rowsOf } from './configuration/rows.ts'
import { cell, generatedFrom, table } from './markdown.ts'

const intro = `${generatedFrom('src/config/schema.ts, config/default.yaml and the settings of the domains')}# Configuration

[config/default.yaml](../../config/default.yaml) holds the defaults of the gateway, and each domain declares its own. Portico
lays three sources over them, key by key: the defaults of the profile, the file that \`PORTICO_CONFIG\` names, and the [environment variables](environment.md). Lists are replaced as a
whole. Unknown keys are errors. Durations are in milliseconds, sizes in bytes.

\`\`\`sh
npx portico config check
\`\`\`

This command prints the result with masked secrets. If anything is wrong, it lists every error and exits with code 2.

Portico reloads \`backends\`, \`limits\` and \`portals.<portal>.limits\` on SIGHUP and when the file changes, without losing a request
or a count. Every other setting needs a restart. The log names those that changed: \`changed settings need a restart: …\`. If the
configuration is invalid, nothing changes, and the log lists the errors.
`

/** The settings below the second name are described below the first one. */
const repeated = [
  ['backends.<name>', 'passThrough[]', 'Each entry of `passThrough` also has the settings of `backends.<name>`.'],
  [
    'limits',
    'portals.<CONSUMER | SYSTEM>.limits',
    'The `limits` of a portal have the settings of `limits`, except `scale`.',
  ],
  [
    'portals.<CONSUMER | SYSTEM>',
    'portals.<name>',
    'An additional portal also has the settings of CONSUMER. See the guide [Add a portal](../guides/another-portal.md).',
  ],
] as const

export function configurationReference(): string {
  const file = readFileSync(new URL('../../config/default.yaml', import.meta.url), 'utf8')
  const defaults = readDefaults(file, defaultLayers(bankingDomains))
  const { schema } = schemaWith(bankingDomains)
  const { properties = {} } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
  const all = Object.entries(properties).flatMap(([name, node]) =>
    typeof node === 'object' ? [[name, rowsOf(node, name, [name], defaults)] as const] : [],
  )
  const known = new Map(all.flatMap(([, rows]) => rows).map((row) => [row.setting, row]))
  const isRepeated = ({ setting, takes, is }: Row): boolean =>
    repeated.some(([first, second]) => {
      const other = setting.startsWith(`${second}.`) ? known.get(first + setting.slice(second.length)) : undefined
      return other?.takes === takes && other.is === is
    })
  const sections = all.map(([name, rows]) => {
    const links = repeated.flatMap(([, second, link]) => (second.startsWith(name) ? [`\n${link}\n`] : []))
    const shown = rows.filter((row) => !isRepeated(row)).map(settingCells)
    return [`## ${name}\n\n${table(['setting', 'value', 'default', 'description'], shown)}\n`, ...links].join('')
  })
  return [intro, ...sections].join('\n')
}

function settingCells({ setting, takes, otherwise, is }: Row): string[] {
  return [`\`${setting}\``.replaceAll('|', '\\|'), cell(takes), cell(otherwise), cell(is)]
}
