/* The methods of the typed client, with what their comments and docs/reference/client.md say. */
import { listRoutes, type NamedRoute } from '../../src/client/contract/routes.ts'
import { portalChains } from '../../src/client/routes.ts'
import { catalogue, statusOf } from '../../src/contract/index.ts'
import { listImpliedRefusals } from '../../src/contract/policies.ts'
import { resources } from '../../src/contract/resources.ts'
import { type ChainId, type Code, domainOf, type Operation, operationsIn, pathOn } from '../../src/kernel/index.ts'
import { refusalTexts } from '../reference/refusal-texts.ts'

export interface Method extends NamedRoute {
  chainId: ChainId
  /** Whether a call must name its workspace. An API key determines the workspace. */
  needsWorkspace: boolean
  /** The operation's own codes. */
  refuses: readonly Code[]
  /** Further codes that its policy implies, without `commonRefusals`. */
  implied: readonly Code[]
}

/** Implied codes that depend on the operation. Calls of any method can be refused with the others. */
const ofOperation: ReadonlySet<Code> = new Set([
  'ACCESS.WORKSPACE_REQUIRED',
  'ACCESS.PERMISSION_DENIED',
  'WORKSPACE.NOT_ACTIVE',
  'ACCESS.STEP_UP_REQUIRED',
  'REQUEST.IN_PROGRESS',
  'REQUEST.ID_REUSED',
])

export const commonRefusals: readonly Code[] = unique(
  catalogue.flatMap((operation) =>
    operation.chains.flatMap((chainId) =>
      operation.reply === 'socket' ? [] : listImpliedRefusals(operation, chainId),
    ),
  ),
).filter((code) => !ofOperation.has(code))

const domains = Object.keys(resources)

/**
 * The operations in the order that the catalogue has in Node, which sorts the exports of a module. Other tools keep the
 * order of their declarations.
 */
export const namedOperations = Object.values(resources)
  .flatMap((module) => operationsIn(module).toSorted(([a], [b]) => (a < b ? -1 : 1)))
  .map(([name, operation]): [string, Operation] => [name, withBody(operation)])
  .toSorted(([, a], [, b]) => positionOf(a) - positionOf(b))

const names = namedOperations.map(([name]) => name)

/** By the name of their interface in src/client/methods.ts. */
export const methods = {
  ConsumerMethods: methodsOn(portalChains.CONSUMER),
  SystemMethods: methodsOn(portalChains.SYSTEM),
  ApiMethods: methodsOn(['api']),
  SystemApiMethods: methodsOn(['systemApi']),
} as const satisfies Record<string, readonly Method[]>

const workspaceNotes: Readonly<Record<Operation['policy']['workspace'], string | null>> = {
  none: null,
  optional: 'Without `workspaceId`, uses the default workspace.',
  required: null,
}

export function quoted(codes: readonly Code[]): string {
  return codes.map((code) => `\`${code}\``).join(', ')
}

const everyCall = 'the codes of every call'

/** Returns the lines of the comment: summary, request, conditions and refusals. */
export function commentOf({ operation, chain, chainId, refuses, implied }: Method): string[] {
  const { summary, method, policy } = operation
  const conditions = [
    policy.permission === null ? null : `Requires the permission \`${policy.permission}\`.`,
    policy.stepUp ? 'Requires a recent step-up.' : null,
    chainId === 'api' ? null : workspaceNotes[policy.workspace],
    policy.idempotent ? 'Idempotent by `requestId`.' : null,
  ].filter((each) => each !== null)
  const own = refuses.map((code) => `- \`${code}\` (${statusOf(code)}): ${refusalTexts[code].cause}`)
  const others = implied.length === 0 ? everyCall : `${quoted(implied)}, and ${everyCall}`
  return [
    `${summary}.`,
    '',
    `\`${method} ${pathOn(chain, operation)}\``,
    ...(conditions.length === 0 ? [] : ['', conditions.join(' ')]),
    '',
    ...(own.length === 0 ? [`Refusals: ${others}.`] : ['Refusals:', ...own, '', `Also ${others}.`]),
  ]
}

function unique<T>(items: readonly T[]): T[] {
  return [...new Set(items)]
}

/** The catalogue knows the bodies that depend on other contract files. */
function withBody(operation: Operation): Operation {
  return catalogue.find(({ id }) => id === operation.id) ?? operation
}

function positionOf({ id }: Operation): number {
  return domains.indexOf(domainOf(id))
}

function methodsOn(preference: readonly ChainId[]): Method[] {
  return listRoutes(preference)
    .map((listed) => {
      const route = { ...listed, operation: withBody(listed.operation) }
      const chainId = chainIdOf(route, preference)
      const { refuses, policy } = route.operation
      const implied = listImpliedRefusals(route.operation, chainId)
      return {
        ...route,
        chainId,
        needsWorkspace: policy.workspace === 'required' && chainId !== 'api',
        refuses,
        implied: implied.filter((code) => ofOperation.has(code) && !refuses.includes(code)),
      }
    })
    .sort((a, b) => names.indexOf(a.name) - names.indexOf(b.name))
}

function chainIdOf({ operation }: NamedRoute, preference: readonly ChainId[]): ChainId {
  const chainId = preference.find((each) => operation.chains.includes(each))
  if (!chainId) throw new TypeError(`${operation.id} is not served`)
  return chainId
}
