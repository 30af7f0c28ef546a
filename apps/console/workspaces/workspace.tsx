import { useQuery } from '@tanstack/react-query'
import { freezeWorkspace, proposeOwner, unfreezeWorkspace, type Workspace as WorkspaceRecord } from 'portal-client'
import { Link } from 'wouter'
import { client } from '../../kit/client.ts'
import { Facts } from '../../kit/facts.tsx'
import { TextField } from '../../kit/forms.tsx'
import { t } from '../../kit/i18n.ts'
import { Page, Section } from '../../kit/page.tsx'
import { useParameter } from '../../kit/pages.tsx'
import { useSession } from '../../kit/session.tsx'
import { Empty, QueryView } from '../../kit/states.tsx'
import { Time, TimeZone } from '../../kit/time.tsx'
import { Command, CommandRow, useMissing } from '../records/command.tsx'
import { findWorkspace } from '../records/workspace-zone.tsx'
import { Members } from './members.tsx'
import { orderKinds } from './order-kinds.ts'
import { ActiveBadge } from './status.tsx'
import { Wallets } from './wallets.tsx'

/** A workspace with its members, wallets and orders. */
export default function Workspace() {
  const workspaceId = useParameter('workspaceId')
  const query = useQuery({
    queryKey: ['workspace', workspaceId],
    queryFn: () => findWorkspace(workspaceId),
  })
  return (
    <Page title={query.data?.workspaceName ?? t('workspaces.one')}>
      <QueryView query={query}>
        {(workspace) =>
          workspace === null ? (
            <Empty title={t('workspaces.unknown')} />
          ) : (
            <TimeZone zone={workspace.workspaceTimezone}>
              <Section title={t('workspaces.facts')}>
                <Facts facts={factsOf(workspace)} />
                <Related workspaceId={workspaceId} />
              </Section>
              <Section title={t('records.actions')}>
                <Commands workspace={workspace} />
              </Section>
              <Section title={t('workspaces.members')}>
                <Members workspaceId={workspaceId} />
              </Section>
              <Section title={t('workspaces.wallets')}>
                <Wallets workspaceId={workspaceId} />
              </Section>
            </TimeZone>
          )
        }
      </QueryView>
    </Page>
  )
}

/** The lists that have records of this workspace. */
function Related({ workspaceId }: { workspaceId: string }) {
  const { permissions } = useSession()
  const links = [
    ...orderKinds.map(({ kind, permission }) => ({
      permission,
      href: `/orders?kind=${kind}&workspaceId=${workspaceId}`,
      text: t(`workspaces.orders_${kind}`),
    })),
    { permission: 'api-key:end', href: `/api-keys?workspaceId=${workspaceId}`, text: t('workspaces.apiKeys') },
    { permission: 'webhook:read', href: `/webhooks?workspaceId=${workspaceId}`, text: t('workspaces.webhooks') },
    { permission: 'audit:read', href: `/audit?workspaceId=${workspaceId}`, text: t('records.auditEntries') },
  ].filter(({ permission }) => permissions.has(permission))
  return (
    <p className="records-commands">
      {links.map(({ href, text }) => (
        <Link key={href} href={href}>
          {text}
        </Link>
      ))}
    </p>
  )
}

function Commands({ workspace: { bizId, workspaceName, workspaceStatus } }: { workspace: WorkspaceRecord }) {
  const freezing = useMissing('workspace:freeze')
  const recovery = useMissing('recovery:manage')
  const params = { workspace_id: bizId }
  const values = { name: workspaceName }
  return (
    <div className="records-rows">
      <CommandRow about={t('workspaces.freezeAbout')}>
        {workspaceStatus.code === 'ACTIVE' ? (
          <Command
            label={t('workspaces.freeze')}
            question={t('workspaces.freezeQuestion', values)}
            run={(form) => client.call(freezeWorkspace, { params, body: { reason: form('reason') } })}
            done={({ pending }) => t('workspaces.frozen', { orders: sumOf(pending) })}
            blocked={freezing}
            tone="danger"
            asksReason
          />
        ) : (
          <Command
            label={t('workspaces.unfreeze')}
            question={t('workspaces.unfreezeQuestion', values)}
            run={(form) => client.call(unfreezeWorkspace, { params, body: { reason: form('reason') } })}
            done={t('workspaces.unfrozen')}
            blocked={freezing}
            asksReason
          />
        )}
      </CommandRow>
      <CommandRow about={t('workspaces.ownerAbout')}>
        <Command
          label={t('workspaces.proposeOwner')}
          question={t('workspaces.ownerQuestion', values)}
          run={(form) =>
            client.call(proposeOwner, { params, body: { userBizId: form('userBizId'), reason: form('reason') } })
          }
          done={t('workspaces.ownerProposed')}
          blocked={recovery}
          asksReason
        >
          <TextField label={t('workspaces.newOwner')} name="userBizId" required autoComplete="off" />
        </Command>
      </CommandRow>
    </div>
  )
}

function factsOf(workspace: WorkspaceRecord) {
  return [
    [t('workspaces.status'), <ActiveBadge key="status" status={workspace.workspaceStatus} />],
    [t('workspaces.kind'), workspace.workspaceKind.label],
    [t('workspaces.timezone'), workspace.workspaceTimezone],
    [t('records.created'), <Time key="created" at={workspace.createdAt} />],
    [t('records.updated'), <Time key="updated" at={workspace.updatedAt} />],
    [t('records.id'), <code key="id">{workspace.bizId}</code>],
  ] as const
}

function sumOf(numbers: Readonly<Record<string, number | undefined>>): number {
  return Object.values(numbers).reduce<number>((sum, count) => sum + (count ?? 0), 0)
}
