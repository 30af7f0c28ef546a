import { toTag } from '../../src/openapi/names.ts'
import { resultOf } from '../client/declarations.ts'
import { type Method, methods } from '../client/methods.ts'
import { cell, generatedFrom, table } from './markdown.ts'

const clients = {
  CONSUMER: methods.ConsumerMethods,
  SYSTEM: methods.SystemMethods,
  API: methods.ApiMethods,
  'SYSTEM API': methods.SystemApiMethods,
}

/** The first client that has the method describes it. */
const all = new Map<string, Method>()
for (const each of Object.values(clients))
  for (const method of each) if (!all.has(method.name)) all.set(method.name, method)

const sections = [...Map.groupBy(all.values(), ({ operation }) => toTag(operation))]

export function clientReference(): string {
  return `${generatedFrom('the contracts')}# Methods of the typed client

The [typed client](../guides/front-end.md) has one method per operation. This page lists the clients that have a method, how it
uses \`workspaceId\`, and the type that it returns. An editor shows the refusals of a method.

| client | created by |
| --- | --- |
| CONSUMER | \`createClient({ portal: 'CONSUMER', … })\` |
| SYSTEM | \`createClient({ portal: 'SYSTEM', … })\` |
| API | \`createApiClient({ … })\`. The API key determines the workspace. |
| SYSTEM API | \`createSystemApiClient({ … })\`, with an API key of operators. |

\`required\`: a call without \`workspaceId\` does not compile. \`optional\`: the default is the account's default workspace.
\`readOwnSession\` has no default: without \`workspaceId\`, the permissions of a member are an empty list.

${sections
  .map(
    ([tag, list]) =>
      `## ${tag}\n\n${table(['method', 'summary', 'clients', '`workspaceId`', 'returns'], list.map(rowOf))}\n`,
  )
  .join('\n')}`
}

function rowOf(method: Method): string[] {
  const { workspace } = method.operation.policy
  return [
    `\`${method.name}\``,
    cell(method.operation.summary),
    clientsOf(method.name),
    workspace === 'none' ? '' : workspace,
    typeOf(method),
  ]
}

function clientsOf(name: string): string {
  return Object.entries(clients)
    .filter(([, each]) => each.some((method) => method.name === name))
    .map(([client]) => client)
    .join(', ')
}

/** Omits the members of a type without a name. */
function typeOf(method: Method): string {
  const type = resultOf(method)
  return type.includes('{') ? 'object' : `\`${cell(type)}\``
}
