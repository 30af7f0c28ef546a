import type { SessionState } from 'portal-client'
import { createContext, type ReactNode, use, useCallback, useEffect, useState } from 'react'
import { client } from './client.ts'
import { Loading } from './states.tsx'

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

interface Props {
  /** Whose permissions to read. Operators have none. */
  workspaceId?: string | undefined
  /** For visitors. */
  signedOut: ReactNode
  children: ReactNode
}

/** Shows `children` to signed-in users. Another account in another tab reloads the page. */
export function SessionGate({ workspaceId, signedOut, children }: Props) {
  const [state, setState] = useState<SessionState | null>(client.session.state)
  const refresh = useCallback(async () => {
    setState(await client.session.read(workspaceId === undefined ? {} : { workspaceId }))
  }, [workspaceId])
  useEffect(() => {
    let account: string | undefined
    const update = (next: SessionState): void => {
      if (account && next.accountBizId && next.accountBizId !== account) location.reload()
      account = next.accountBizId ?? account
      setState(next)
    }
    const stop = client.session.onChange(update)
    void client.session
      .read(workspaceId === undefined ? {} : { workspaceId })
      .then(update, () => setState({ signedIn: false }))
    return stop
  }, [workspaceId])

  if (state === null) return <Loading />
  const { accountBizId, permissionCodes, idleExpiresAt, expiresAt } = state
  if (!state.signedIn || !accountBizId || !idleExpiresAt || !expiresAt) return signedOut
  const session = { accountId: accountBizId, permissions: new Set(permissionCodes), idleExpiresAt, expiresAt, refresh }
  return <Context value={session}>{children}</Context>
}
