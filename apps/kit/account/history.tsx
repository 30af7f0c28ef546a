import { type LoginHistory, listLoginHistory } from 'portal-client'
import { client } from '../client.ts'
import { t } from '../i18n.ts'
import { ListQuery, Table } from '../list.tsx'
import { Badge } from '../states.tsx'
import { Time } from '../time.tsx'
import { deviceOf } from './device.ts'
import { SubPage } from './sub-page.tsx'

/** Sign-ins and failed sign-ins. */
export default function HistoryPage() {
  return (
    <SubPage title={t('account.history')}>
      <p className="hint">{t('account.historyHint')}</p>
      <ListQuery
        queryKey={['login-history']}
        read={(before) => client.call(listLoginHistory, { query: { before } })}
        empty={t('account.historyEmpty')}
      >
        {(entries) => (
          <Table
            label={t('account.history')}
            items={entries}
            keyOf={({ bizId }) => bizId}
            columns={[
              { title: t('account.time'), cell: ({ loginTime }) => <Time at={loginTime} /> },
              { title: t('account.result'), cell: (entry) => <Result entry={entry} /> },
              { title: t('account.device'), cell: ({ userAgent }) => deviceOf(userAgent) },
              { title: t('account.address'), cell: ({ clientIp }) => <code>{clientIp}</code> },
            ]}
          />
        )}
      </ListQuery>
    </SubPage>
  )
}

function Result({ entry: { loginResult, failureReason } }: { entry: LoginHistory }) {
  if (loginResult === 1) return <Badge tone="good">{t('account.succeeded')}</Badge>
  const key = failureReason === null ? undefined : failures.get(failureReason)
  return <Badge tone="bad">{key ? t(key) : (failureReason ?? t('account.failed'))}</Badge>
}

/** The keys of the texts by reason. A newer gateway can send others. */
const failures: ReadonlyMap<string, string> = new Map([
  ['INVALID_CREDENTIALS', 'account.wrongPassword'],
  ['CODE_INVALID', 'account.wrongCode'],
  ['PASSKEY_INVALID', 'account.wrongPasskey'],
  ['IP_NOT_ALLOWED', 'account.wrongAddress'],
])
