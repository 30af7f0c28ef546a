import type { Overview } from 'portal-client'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { formatCount } from '../../kit/format.ts'
import { t } from '../../kit/i18n.ts'
import { usePermission } from '../../kit/session.tsx'
import { Badge } from '../../kit/states.tsx'
import { Age } from '../../kit/time.tsx'

/** The ledger, the audit log and the open sessions. */
export function Health({ ledger, audit, sessions }: Pick<Overview, 'ledger' | 'audit' | 'sessions'>) {
  return (
    <div className="cards">
      <Ledger ledger={ledger} />
      <Audit audit={audit} />
      <Card title={t('overview.sessions')} state={null}>
        <dl className="overview-sessions">
          {sessions.map(({ portal, open }) => (
            <div key={portal}>
              <dt>{t(`overview.portal_${portal}`)}</dt>
              <dd className="figure">{formatCount(open)}</dd>
            </div>
          ))}
        </dl>
      </Card>
    </div>
  )
}

function Ledger({ ledger }: Pick<Overview, 'ledger'>) {
  if (ledger === null) {
    return (
      <Card title={t('overview.ledger')} state={<Badge tone="waiting">{t('overview.unchecked')}</Badge>}>
        <p className="hint">{t('overview.ledgerUnchecked')}</p>
      </Card>
    )
  }
  const { checkedAt, wholeCheckedAt, discrepancies, brokenRule } = ledger
  const isBroken = discrepancies > 0 || brokenRule !== null
  const state = isBroken ? (
    <Badge tone="bad">{t('overview.discrepancies', { count: discrepancies })}</Badge>
  ) : (
    <Badge tone="good">{t('overview.balanced')}</Badge>
  )
  return (
    <Card title={t('overview.ledger')} state={state}>
      {brokenRule !== null && (
        <p>
          {t('overview.brokenRule')} <code>{brokenRule}</code>
        </p>
      )}
      <p className="hint">
        {t('overview.checked')} <Age at={checkedAt} />
      </p>
      <p className="hint">
        {t('overview.wholeChecked')} {wholeCheckedAt === null ? t('overview.never') : <Age at={wholeCheckedAt} />}
      </p>
    </Card>
  )
}

function Audit({ audit: { verifiedAt, intact, head } }: Pick<Overview, 'audit'>) {
  const canRead = usePermission('audit:read')
  return (
    <Card title={t('overview.audit')} state={<AuditState intact={intact} />}>
      <p className="hint">
        {t('overview.verified')} {verifiedAt === null ? t('overview.notSinceStart') : <Age at={verifiedAt} />}
      </p>
      {head !== null && (
        <p className="hint">
          {t('overview.head')} <code>{head}</code>
        </p>
      )}
      {canRead && <Link href="/audit">{t('overview.toAudit')}</Link>}
    </Card>
  )
}

function AuditState({ intact }: { intact: boolean | null }) {
  if (intact === null) return <Badge>{t('overview.unchecked')}</Badge>
  return intact ? <Badge tone="good">{t('overview.intact')}</Badge> : <Badge tone="bad">{t('overview.tampered')}</Badge>
}

function Card({ title, state, children }: { title: string; state: ReactNode; children: ReactNode }) {
  return (
    <section className="card overview-card">
      <div className="overview-card-head">
        <h2>{title}</h2>
        {state}
      </div>
      {children}
    </section>
  )
}
