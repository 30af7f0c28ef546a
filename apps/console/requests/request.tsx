import { useQuery } from '@tanstack/react-query'
import { type ReadRequestReply, readRequest } from 'portal-client'
import type { ReactNode } from 'react'
import { Link, useSearchParams } from 'wouter'
import { client } from '../../kit/client.ts'
import { Facts } from '../../kit/facts.tsx'
import { formatInstant } from '../../kit/format.ts'
import { t } from '../../kit/i18n.ts'
import { Page, Section } from '../../kit/page.tsx'
import { usePermission } from '../../kit/session.tsx'
import { Empty, QueryView } from '../../kit/states.tsx'
import { MissingReplicas } from './missing.tsx'
import { Outcome } from './outcome.tsx'
import { Hooks, Stages } from './stages.tsx'

type Decision = ReadRequestReply['decisions'][number]

/**
 * The decisions about one request. A service that received it has a decision, too. The id is in the query, because clients
 * choose it, also as `..`.
 */
export default function Request() {
  const [search] = useSearchParams()
  const requestId = search.get('requestId') ?? ''
  const query = useQuery({
    queryKey: ['request', requestId],
    queryFn: () => client.call(readRequest, { query: { requestId } }),
  })
  return (
    <Page title={t('requests.request')} actions={<Link href="/requests">{t('requests.toList')}</Link>}>
      <p>
        <code>{requestId}</code>
      </p>
      <QueryView query={query}>
        {({ decisions, missing }) => (
          <>
            <MissingReplicas missing={missing} />
            {decisions.length === 0 && <Empty title={t('requests.unknown')} />}
            {decisions.map((decision) => (
              <DecisionView key={`${decision.replica} ${decision.at}`} decision={decision} />
            ))}
          </>
        )}
      </QueryView>
    </Page>
  )
}

function DecisionView({ decision }: { decision: Decision }) {
  const { operation, replica, at, outcome, status, code, stages, hooks } = decision
  return (
    <Section title={operation ?? t('requests.noOperation')}>
      <Facts
        facts={[
          [t('requests.outcome'), <Outcome key="outcome" outcome={outcome} />],
          [t('requests.status'), status ?? t('requests.noStatus')],
          [t('requests.code'), <Id key="code" id={code} />],
          [t('requests.at'), formatInstant(at)],
          [t('requests.replica'), replica],
          [t('requests.chain'), decision.chain ?? t('requests.none')],
          [t('requests.idempotencyKey'), <Id key="key" id={decision.idempotencyKey} />],
          [t('requests.traceId'), <Id key="trace" id={decision.traceId} />],
          ...linksOf(decision),
          ...trialOf(decision),
        ]}
      />
      <h3>{t('requests.stages')}</h3>
      <Stages stages={stages} totalMs={decision.ms} />
      <h3>{t('requests.hooks')}</h3>
      {hooks.length === 0 ? <p>{t('requests.noHooks')}</p> : <Hooks hooks={hooks} />}
      <AuditLink requestId={decision.requestId} />
    </Section>
  )
}

/** Whether a canary served the request, and what a shadow replied. */
function trialOf({ trial }: Decision): (readonly [string, ReactNode])[] {
  if (trial === null) return []
  const { servedBy, rule, shadow } = trial
  return [
    [t('requests.servedBy'), t(`requests.servedBy_${servedBy}`)],
    [t('requests.rule'), <code key="rule">{rule}</code>],
    [t('requests.shadow'), t(`requests.shadow_${shadow ?? 'none'}`)],
  ]
}

function linksOf({ accountBizId, workspaceBizId }: Decision): (readonly [string, ReactNode])[] {
  return [
    [t('requests.accountId'), <Id key="account" id={accountBizId} folder="accounts" permission="account:read" />],
    [
      t('requests.workspaceId'),
      <Id key="workspace" id={workspaceBizId} folder="workspaces" permission="workspace:read" />,
    ],
  ]
}

interface IdProps {
  id: string | null
  /** The part of the console that shows what has this id. */
  folder?: 'accounts' | 'workspaces'
  permission?: string
}

function Id({ id, folder, permission = '' }: IdProps) {
  const canRead = usePermission(permission)
  if (id === null) return t('requests.none')
  return folder && canRead ? (
    <Link href={`/${folder}/${id}`}>
      <code>{id}</code>
    </Link>
  ) : (
    <code>{id}</code>
  )
}

function AuditLink({ requestId }: { requestId: string }) {
  if (!usePermission('audit:read')) return null
  return (
    <p>
      <Link href={`/audit?${new URLSearchParams({ requestId })}`}>{t('requests.toAudit')}</Link>
    </p>
  )
}
