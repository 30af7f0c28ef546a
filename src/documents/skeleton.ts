import { isRecord } from '../kernel/index.ts'

/** The policy fields of an operation that the author of the document still has to decide. */
export interface OpenDecision {
  operation: string
  missing: readonly string[]
}

/** Returns `cardOrders` for `card-orders`. */
export function camelCase(text: string): string {
  return text
    .split(/[^A-Za-z0-9]+/)
    .filter(Boolean)
    .map((word, index) => (index === 0 ? word.charAt(0).toLowerCase() : word.charAt(0).toUpperCase()) + word.slice(1))
    .join('')
}

/**
 * Adds missing `x-portico` members. The gateway rejects the document until its author has made the returned decisions.
 */
export function skeletonOf(
  document: Record<string, unknown>,
  domain: string,
): { document: Record<string, unknown>; open: OpenDecision[] } {
  const open: OpenDecision[] = []
  const paths = Object.fromEntries(
    Object.entries(isRecord(document.paths) ? document.paths : {}).map(([path, item]) => [
      path,
      Object.fromEntries(
        Object.entries(isRecord(item) ? item : {}).map(([method, source]) => {
          if (!isRecord(source) || source['x-portico'] !== undefined) return [method, source]
          const name = nameOf(method, path, source.operationId)
          const policy = undecidedPolicy(method)
          const undecided = Object.entries(policy).filter(([, value]) => value === null)
          open.push({
            operation: `${method.toUpperCase()} ${path}`,
            missing: ['chains', ...undecided.map(([key]) => `policy.${key}`), 'policy.permission', 'refuses'],
          })
          const marks = { id: `${domain}.${name}`, name, chains: [], policy, refuses: [] }
          return [method, { ...source, 'x-portico': marks }]
        }),
      ),
    ]),
  )
  const root = isRecord(document['x-portico'])
    ? document['x-portico']
    : { domains: { [domain]: '' }, permissions: {}, codes: {} }
  return { document: { ...document, openapi: '3.1.0', 'x-portico': root, paths }, open }
}

function nameOf(method: string, path: string, operationId: unknown): string {
  return camelCase(typeof operationId === 'string' ? operationId : `${method} ${path}`)
}

/**
 * The most restrictive policy. `null` marks the fields that the author has to decide. `permission` is missing, because
 * its `null` is a decision: every member may call the operation.
 */
function undecidedPolicy(method: string) {
  return {
    caller: 'account',
    workspace: null,
    stepUp: false,
    channel: 'none',
    rate: 'general',
    idempotent: method === 'get' ? false : null,
    changesRights: false,
  }
}
