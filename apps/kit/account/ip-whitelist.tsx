import { useQuery } from '@tanstack/react-query'
import {
  disableIpWhitelist,
  enableIpWhitelist,
  type IpWhitelist,
  listSessions,
  readIpWhitelist,
  replaceIpWhitelist,
} from 'portal-client'
import { refreshData } from '../app.tsx'
import { client } from '../client.ts'
import { Command } from '../command/command.tsx'
import { CheckField, Form, TextAreaField, type Values } from '../forms.tsx'
import { t } from '../i18n.ts'
import { Table } from '../list.tsx'
import { Section } from '../page.tsx'
import { Badge, Empty, QueryView } from '../states.tsx'
import { Age, Time } from '../time.tsx'
import { notify } from '../toasts.tsx'
import { SubPage } from './sub-page.tsx'

/** The addresses from which the account can be used. */
export default function IpWhitelistPage() {
  const query = useQuery({ queryKey: ['ip-whitelist'], queryFn: () => client.call(readIpWhitelist) })
  return (
    <SubPage title={t('account.whitelist')}>
      <QueryView query={query}>
        {(whitelist) => (
          <>
            <Section title={t('account.state')}>
              <State whitelist={whitelist} />
            </Section>
            <Entries whitelist={whitelist} />
            <Section title={t('account.replaceAddresses')}>
              <Replace key={whitelist.entries.map(({ bizId }) => bizId).join()} whitelist={whitelist} />
            </Section>
          </>
        )}
      </QueryView>
    </SubPage>
  )
}

function State({ whitelist: { enabled, entries } }: { whitelist: IpWhitelist }) {
  return (
    <>
      <p>
        <Badge tone={enabled ? 'good' : 'neutral'}>{t(enabled ? 'account.on' : 'account.off')}</Badge>
      </p>
      <p>{t('account.whitelistHint')}</p>
      <OwnAddress />
      <div className="form-actions">
        {enabled ? (
          <Command
            label={t('account.disable')}
            done={t('account.whitelistOff')}
            tone="danger"
            run={() => client.call(disableIpWhitelist)}
          >
            <p>{t('account.disableHint')}</p>
          </Command>
        ) : (
          <Command
            label={t('account.enable')}
            done={t('account.whitelistOn')}
            tone="primary"
            disabled={entries.length === 0}
            run={(values) => client.call(enableIpWhitelist, { body: { force: values('force') === 'on' } })}
          >
            <p className="notice">{t('account.lockOut')}</p>
            <OwnAddress />
            <CheckField label={t('account.force')} name="force" />
          </Command>
        )}
        {!enabled && entries.length === 0 && <p className="hint">{t('account.addFirst')}</p>}
      </div>
    </>
  )
}

/** As the gateway sees it. */
function OwnAddress() {
  const { data } = useQuery({ queryKey: ['sessions'], queryFn: () => client.call(listSessions) })
  const current = data?.find(({ isCurrent }) => isCurrent)
  if (!current) return null
  return (
    <p>
      {t('account.ownAddress')} <code>{current.clientIp}</code>
    </p>
  )
}

function Entries({ whitelist: { entries } }: { whitelist: IpWhitelist }) {
  if (entries.length === 0) return <Empty title={t('account.noAddresses')} />
  return (
    <Table
      label={t('account.whitelist')}
      items={entries}
      keyOf={({ bizId }) => bizId}
      columns={[
        { title: t('account.address'), cell: ({ address }) => <code>{address}</code> },
        { title: t('account.added'), cell: ({ createdAt }) => <Time at={createdAt} /> },
        {
          title: t('account.lastUse'),
          cell: ({ lastMatchedAt }) => <Age at={lastMatchedAt} none={t('account.never')} />,
        },
      ]}
    />
  )
}

function Replace({ whitelist: { enabled, entries } }: { whitelist: IpWhitelist }) {
  const replace = async (values: Values): Promise<void> => {
    const addresses = values('addresses')
      .split(/[\s,;]+/)
      .filter(Boolean)
    await client.call(replaceIpWhitelist, { body: { addresses } })
    notify(t('account.saved'))
    await refreshData()
  }
  return (
    <Form submit={t('account.replaceAddresses')} tone={enabled ? 'danger' : 'primary'} onSubmit={replace}>
      <TextAreaField
        label={t('account.addresses')}
        name="addresses"
        defaultValue={entries.map(({ address }) => address).join('\n')}
        hint={t(enabled ? 'account.addressesEnabledHint' : 'account.addressesHint')}
      />
    </Form>
  )
}
