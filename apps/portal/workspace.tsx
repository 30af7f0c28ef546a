import { useQuery } from '@tanstack/react-query'
import { listMyWorkspaces, type MyWorkspace, readCurrentWorkspace } from 'portal-client'
import { createContext, type ReactNode, use, useState } from 'react'
import { useLocation } from 'wouter'
import { client } from '../kit/client.ts'
import { t } from '../kit/i18n.ts'
import { usePermission } from '../kit/session.tsx'
import { QueryView } from '../kit/states.tsx'
import { TimeZone } from '../kit/time.tsx'
import { pathInOtherWorkspace } from './navigation.ts'

interface Chosen {
  workspace: MyWorkspace
  workspaces: readonly MyWorkspace[]
  choose(workspaceId: string): void
}

const Context = createContext<Chosen | null>(null)
const storageKey = 'portico.workspace'

/** The workspace that the pages show. Throws outside of `WorkspaceGate`. */
export function useWorkspace(): Chosen {
  const chosen = use(Context)
  if (!chosen) throw new Error('useWorkspace outside of WorkspaceGate')
  return chosen
}

/** Shows the times in `children` in the time zone of the workspace. Members who cannot read it see that of the browser. */
export function WorkspaceTimeZone({ children }: { children: ReactNode }) {
  const { workspaceBizId: workspaceId } = useWorkspace().workspace
  const mayRead = usePermission('workspace:read')
  const { data } = useQuery({
    queryKey: ['workspace', workspaceId],
    queryFn: () => client.call(readCurrentWorkspace, { workspaceId }),
    enabled: mayRead,
  })
  return <TimeZone zone={data?.workspaceTimezone}>{children}</TimeZone>
}

interface Props {
  /** For a user without a workspace. */
  none: ReactNode
  children: ReactNode
}

/** Chooses the workspace of the last visit, or the default one. */
export function WorkspaceGate({ none, children }: Props) {
  const query = useQuery({ queryKey: ['workspaces'], queryFn: () => client.call(listMyWorkspaces) })
  const [id, setId] = useState(() => localStorage.getItem(storageKey))
  const choose = (workspaceId: string): void => {
    localStorage.setItem(storageKey, workspaceId)
    setId(workspaceId)
  }
  return (
    <QueryView query={query}>
      {(workspaces) => {
        const workspace =
          workspaces.find(({ workspaceBizId }) => workspaceBizId === id) ??
          workspaces.find(({ isDefault }) => isDefault) ??
          workspaces[0]
        return workspace ? <Context value={{ workspace, workspaces, choose }}>{children}</Context> : none
      }}
    </QueryView>
  )
}

/** In the head of the frame. */
export function WorkspaceChoice() {
  const { workspace, workspaces, choose } = useWorkspace()
  const [path, navigate] = useLocation()
  const change = (workspaceId: string): void => {
    choose(workspaceId)
    navigate(pathInOtherWorkspace(path))
  }
  if (workspaces.length === 1) return <span className="muted">{workspace.workspaceName}</span>
  return (
    <select
      aria-label={t('portal.workspace')}
      value={workspace.workspaceBizId}
      onChange={(event) => change(event.currentTarget.value)}
    >
      {workspaces.map(({ workspaceBizId, workspaceName }) => (
        <option key={workspaceBizId} value={workspaceBizId}>
          {workspaceName}
        </option>
      ))}
    </select>
  )
}
