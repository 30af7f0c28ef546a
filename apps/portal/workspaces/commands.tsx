import { leaveWorkspace, type MyWorkspace, resetSandbox, setDefaultWorkspace } from 'portal-client'
import { useLocation } from 'wouter'
import { client } from '../../kit/client.ts'
import { Command } from '../../kit/command/command.tsx'
import { t } from '../../kit/i18n.ts'
import { Section } from '../../kit/page.tsx'
import { usePermission } from '../../kit/session.tsx'
import { Lacking } from '../permissions/permissions.tsx'

interface Props {
  workspace: MyWorkspace
}

/** Or why the workspace cannot be the default. */
export function MakeDefault({ workspace: { workspaceBizId: workspaceId, workspaceName, defaultEligible } }: Props) {
  if (!defaultEligible) return <span className="hint">{t('workspaces.notEligible')}</span>
  return (
    <Command
      label={t('workspaces.makeDefault')}
      subject={workspaceName}
      title={t('workspaces.makeDefaultTitle', { name: workspaceName })}
      done={t('workspaces.madeDefault', { name: workspaceName })}
      tone="primary"
      run={() => client.call(setDefaultWorkspace, { workspaceId })}
    >
      <p>{t('workspaces.makeDefaultEffect')}</p>
    </Command>
  )
}

export function LeaveWorkspace({ workspace: { workspaceBizId: workspaceId, workspaceName } }: Props) {
  const [, navigate] = useLocation()
  return (
    <Command
      label={t('workspaces.leave')}
      title={t('workspaces.leaveTitle', { name: workspaceName })}
      done={t('workspaces.left', { name: workspaceName })}
      tone="danger"
      run={async () => {
        await client.call(leaveWorkspace, { workspaceId })
        navigate('/')
      }}
    >
      <p>{t('workspaces.leaveEffect')}</p>
    </Command>
  )
}

/** Only owners can reset a sandbox. */
export function ResetSandbox({ workspace: { workspaceBizId: workspaceId, workspaceName, isOwner } }: Props) {
  const mayReset = usePermission('sandbox:reset')
  return (
    <Section title={t('workspaces.sandbox')}>
      <p className="hint">{t('workspaces.sandboxHint')}</p>
      <Lacking permission="sandbox:reset" />
      {mayReset && !isOwner && <p className="hint">{t('workspaces.ownersOnly')}</p>}
      {mayReset && isOwner && (
        <div>
          <Command
            label={t('workspaces.reset')}
            title={t('workspaces.resetTitle', { name: workspaceName })}
            done={t('workspaces.wasReset', { name: workspaceName })}
            tone="danger"
            run={() => client.call(resetSandbox, { workspaceId })}
          >
            <p>{t('workspaces.resetEffect')}</p>
          </Command>
        </div>
      )}
    </Section>
  )
}
