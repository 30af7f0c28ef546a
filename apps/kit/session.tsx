import { isPorticoError, type SessionState } from 'portal-client'
import { createContext, type ReactNode, use, useCallback, useEffect, useState } from 'react'
import { forgetData } from './app.tsx'
import { client, onDenial } from './client.ts'
import { Failure, Loading } from './states.tsx'

interface SignedInSession {
  accountId: string
  /** Of an operator, or of a member in the chosen workspace. */
  permissions: ReadonlySet<string>
  /** ISO 8601. When the session ends without further requests. */
  idleExpiresAt: string
  /** ISO 8601. When the session ends in any case. */
  expiresAt: string
  /** Asks the gateway again, such as after a change of permissions. Does not prolong the session. */
  refresh(): Promise<void>
}

const Context = createContext<SignedInSession | null>(null)

/** The session of the signed-in user. Throws outside of `SessionGate`. */
export function useSession(): SignedInSession {
  const session = use(Context)
  if (!session) throw new Error('useSession outside of SessionGate')
  return session
}

/** Whether the user has a permission. Pages hide what the gateway would refuse. */
export function usePermission(permission: string): boolean {
  return useSession().permissions.has(permission)
}

/** Reads the permissions again after a refusal, because somebody else can change them. */
export function usePermissionUpdates(): void {
  const { refresh } = useSession()
  useEffect(() => onDenial(() => void refresh().catch(() => undefined)), [refresh])
}

interface Props {
  /** Whose permissions to read. Operators have none. */
  workspaceId?: string | undefined
  /** For visitors. */
  signedOut: ReactNode
  children: ReactNode
}

/**
 * Shows `children` to signed-in users. Follows the other tabs: the end of the session there ends it here, and another account
 * reloads the page.
 */
export function SessionGate({ workspaceId, signedOut, children }: Props) {
  // The state of the client has the permissions of another workspace.
  const [state, setState] = useState<SessionState | null>(workspaceId === undefined ? client.session.state : null)
  const [error, setError] = useState<unknown>(null)
  const read = useCallback(() => client.session.read(workspaceId === undefined ? {} : { workspaceId }), [workspaceId])
  const refresh = useCallback(async () => setState(await read()), [read])
  useEffect(() => {
    let account: string | undefined
    const update = (next: SessionState): void => {
      if (account && next.accountBizId && next.accountBizId !== account) {
        location.reload()
        return
      }
      account = next.accountBizId ?? account
      if (!next.signedIn) forgetData()
      setState(next)
    }
    const stop = client.session.onChange((next) => {
      // A listener hears of permissions in the workspace that the client read last.
      if (next.signedIn && workspaceId !== undefined) read().then(update, () => undefined)
      else update(next)
    })
    read().then(update, (failure: unknown) => {
      if (isPorticoError(failure, 'CLIENT.SIGNED_IN_ELSEWHERE')) location.reload()
      else setError(failure)
    })
    return stop
  }, [workspaceId, read])

  const retry = async (): Promise<void> => {
    await refresh()
    setError(null)
  }
  if (state === null)
    return error === null ? <Loading /> : <Failure error={error} onRetry={() => void retry().catch(setError)} />
  const { accountBizId, permissionCodes, idleExpiresAt, expiresAt } = state
  if (!state.signedIn || !accountBizId || !idleExpiresAt || !expiresAt) return signedOut
  const session = { accountId: accountBizId, permissions: new Set(permissionCodes), idleExpiresAt, expiresAt, refresh }
  return <Context value={session}>{children}</Context>
}
