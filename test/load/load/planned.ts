import { listRoutes } from '../../../src/client/contract/routes.ts'
import { buildPath, buildQuery, portalChains } from '../../../src/client/routes.ts'
import type { PlannedRequest, Reader, Wallet } from '../../../src/load/scenarios.ts'
import type { SeededAccount } from '../store/accounts.ts'
import type { Line } from './line.ts'

const routes = new Map(listRoutes(portalChains.CONSUMER).map((route) => [route.operation, route]))

export function walletOf({ wallet, workspace }: SeededAccount): Wallet {
  return {
    bizId: wallet,
    workspaceBizId: workspace,
    currency: 'USD',
  }
}

/** Returns a seeded account as `portico load` knows its accounts. */
export function readerOf(account: SeededAccount): Reader {
  return {
    email: account.email,
    accountId: null,
    workspaces: [account.workspace],
    wallets: [walletOf(account)],
  }
}

/** Sends a request of a scenario of `portico load` on a raw connection. Resolves with the body of the reply. */
export async function sendPlanned(
  line: Line,
  headers: Record<string, string>,
  { operation, args }: Pick<PlannedRequest, 'operation' | 'args'>,
): Promise<string> {
  const route = routes.get(operation)
  if (!route) throw new TypeError(`${operation.id} is not served to consumers`)
  const { workspaceId, requestId, params, query, body } = args
  const { status, body: text } = await line.sendRequest({
    method: operation.method === 'GET' ? 'GET' : 'POST',
    path: buildPath(route, params) + buildQuery(query),
    headers: {
      ...headers,
      ...(workspaceId !== undefined && { 'x-workspace-id': workspaceId }),
      ...(requestId !== undefined && { 'x-request-id': requestId }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  if (status !== 200) throw new Error(`${operation.id}: ${status} ${text}`)
  return text
}
