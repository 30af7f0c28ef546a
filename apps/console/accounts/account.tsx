import { useQuery } from '@tanstack/react-query'
import { type Account as AccountRecord, readAccount } from 'portal-client'
import { Link } from 'wouter'
import { client } from '../../kit/client.ts'
import { Facts } from '../../kit/facts.tsx'
import { nameOfCode } from '../../kit/format.ts'
import { t } from '../../kit/i18n.ts'
import { Page, Section } from '../../kit/page.tsx'
import { useParameter } from '../../kit/pages.tsx'
import { usePermission } from '../../kit/session.tsx'
import { QueryView } from '../../kit/states.tsx'
import { Time } from '../../kit/time.tsx'
import { AccountCommands } from './commands.tsx'
import { AccountStatusBadge } from './status.tsx'

/** An account with the commands of operators on it. */
export default function Account() {
  const accountId = useParameter('accountId')
  const query = useQuery({
    queryKey: ['account', accountId],
    queryFn: () => client.call(readAccount, { params: { account_id: accountId } }),
  })
  return (
    <Page title={query.data?.accountEmail ?? t('accounts.one')}>
      <QueryView query={query}>
        {(account) => (
          <>
            <Section title={t('accounts.facts')}>
              <Facts facts={factsOf(account)} />
              <Related account={account} />
            </Section>
            <Section title={t('records.actions')}>
              <AccountCommands account={account} />
            </Section>
          </>
        )}
      </QueryView>
    </Page>
  )
}

function Related({ account: { bizId } }: { account: AccountRecord }) {
  const canAudit = usePermission('audit:read')
  if (!canAudit) return null
  return (
    <p className="records-commands">
      <Link href={`/audit?targetId=${bizId}`}>{t('accounts.auditTarget')}</Link>
      <Link href={`/audit?actorId=${bizId}`}>{t('accounts.auditActor')}</Link>
    </p>
  )
}

function factsOf(account: AccountRecord) {
  return [
    [t('accounts.name'), account.accountName],
    [t('accounts.email'), account.accountEmail],
    [t('accounts.phone'), account.accountPhone || t('records.nobody')],
    [t('accounts.portal'), account.accountPortal.label],
    [t('accounts.status'), <AccountStatusBadge key="status" status={account.accountStatus} />],
    [t('accounts.remark'), account.accountRemark ?? t('records.nobody')],
    [t('accounts.language'), nameOfCode('language', account.defaultLanguage)],
    [t('accounts.timezone'), account.defaultTimezone],
    [t('accounts.country'), nameOfCode('region', account.defaultCountry)],
    [t('accounts.lastLogin'), <Time key="lastLogin" at={account.lastLoginAt} none={t('records.never')} />],
    [t('records.created'), <Time key="created" at={account.createdAt} />],
    [t('records.id'), <code key="id">{account.bizId}</code>],
  ] as const
}
