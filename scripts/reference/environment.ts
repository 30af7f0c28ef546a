import { variableTexts } from '../../src/config/env.ts'
import { cell, generatedFrom, table } from './markdown.ts'

export function environmentReference(): string {
  const rows = Object.entries(variableTexts).map(([name, text]) => [`\`${name}\``, cell(text)])
  return `${generatedFrom('src/config/env.ts')}# Environment variables

Environment variables override the [configuration](configuration.md). An empty variable counts as unset.

${table(['variable', 'description'], rows)}

Node and the libraries read these variables, too:

| variable | description |
| --- | --- |
| \`NODE_EXTRA_CA_CERTS\` | PEM file with further certificate authorities for [TLS connections](../guides/tls-to-dependencies.md) |
| \`NODE_COMPILE_CACHE\` | Folder of Node's compile cache (\`node_modules/.cache/portico\`) |
| \`NODE_DISABLE_COMPILE_CACHE\` | \`1\` disables that cache |
| \`AWS_*\` | Credentials for \`files.storage\` on S3, as the AWS SDK reads them |
`
}
