import type { AuditLog } from 'portal-client'
import { useState } from 'react'
import { Facts } from '../../kit/facts.tsx'
import { t } from '../../kit/i18n.ts'
import { Badge } from '../../kit/states.tsx'
import { Time } from '../../kit/time.tsx'
import { AccountLink, AccountName, WorkspaceLink } from '../records/links.tsx'

/** One entry, which opens to its details. */
export function Entry({ entry }: { entry: AuditLog }) {
  const [isOpen, setOpen] = useState(false)
  const { at, action, outcome, actorBizId } = entry
  return (
    <details className="audit-entry" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <span>
          <Time at={at} />
        </span>
        <span className="audit-action">{action}</span>
        <span>{actorBizId !== null && <AccountName id={actorBizId} />}</span>
        <Badge tone={outcome.code === 'SUCCESS' ? 'good' : 'bad'}>{outcome.label}</Badge>
      </summary>
      {isOpen && <Details entry={entry} />}
    </details>
  )
}

function Details({ entry }: { entry: AuditLog }) {
  const code = (text: string | null) => (text === null ? t('records.nobody') : <code>{text}</code>)
  return (
    <div className="audit-details">
      <Facts
        facts={[
          [t('audit.actorId'), <AccountLink key="actor" id={entry.actorBizId} />],
          [t('audit.targetId'), code(entry.targetBizId)],
          [t('audit.workspaceId'), <WorkspaceLink key="workspace" id={entry.workspaceBizId} />],
          [t('audit.portal'), entry.portal.label],
          [t('audit.requestId'), code(entry.requestId)],
          [t('audit.clientIp'), code(entry.clientIp)],
          [t('audit.sequence'), entry.sequence ?? t('audit.unsealed')],
          [t('audit.hash'), code(entry.hash)],
        ]}
      />
      <Facts facts={Object.entries(entry.detail).map(([name, value]) => [name, textOf(value)] as const)} />
    </div>
  )
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
