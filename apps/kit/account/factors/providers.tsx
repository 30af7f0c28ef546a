import { useQuery } from '@tanstack/react-query'
import {
  initiateProviderLink,
  type LinkedProvider,
  listLinkedProviders,
  listProviders,
  type Provider,
  unlinkProvider,
} from 'portal-client'
import { client } from '../../client.ts'
import { Command } from '../../command/command.tsx'
import { Form } from '../../forms.tsx'
import { t } from '../../i18n.ts'
import { Table } from '../../list.tsx'
import { Section } from '../../page.tsx'
import { leaveForProvider } from '../../sign-in/attempt.ts'
import { Empty, QueryView } from '../../states.tsx'
import { Age, Time } from '../../time.tsx'
import { SubPage } from '../sub-page.tsx'

/** The accounts at identity providers with which the person signs in. */
export default function ProvidersPage() {
  const linked = useQuery({ queryKey: ['linked-providers'], queryFn: () => client.call(listLinkedProviders) })
  const offered = useQuery({ queryKey: ['providers'], queryFn: () => client.call(listProviders) })
  return (
    <SubPage title={t('account.providers')}>
      <QueryView query={linked}>
        {(providers) => (
          <>
            {providers.length === 0 ? (
              <Empty title={t('account.noProviders')} />
            ) : (
              <LinkedTable providers={providers} />
            )}
            <QueryView query={offered}>
              {(all) => <LinkSection providers={all.filter((each) => !isIn(providers, each))} />}
            </QueryView>
          </>
        )}
      </QueryView>
    </SubPage>
  )
}

function LinkedTable({ providers }: { providers: readonly LinkedProvider[] }) {
  return (
    <Table
      label={t('account.providers')}
      items={providers}
      keyOf={({ providerId }) => providerId}
      columns={[
        { title: t('account.provider'), cell: ({ name }) => name },
        {
          title: t('account.linkedAt'),
          cell: ({ linkedAt }) => <Time at={linkedAt} none={t('account.never')} />,
        },
        {
          title: t('account.lastUse'),
          cell: ({ lastSignInAt }) => <Age at={lastSignInAt} none={t('account.never')} />,
        },
        { title: t('account.action'), cell: (provider) => <Unlink provider={provider} /> },
      ]}
    />
  )
}

function Unlink({ provider: { providerId, name } }: { provider: LinkedProvider }) {
  return (
    <Command
      label={t('account.unlink')}
      subject={name}
      done={t('account.unlinked', { name })}
      tone="danger"
      run={() => client.call(unlinkProvider, { body: { providerId } })}
    >
      <p>{t('account.unlinkHint', { name })}</p>
    </Command>
  )
}

function LinkSection({ providers }: { providers: readonly Provider[] }) {
  if (providers.length === 0) return null
  return (
    <Section title={t('account.linkProvider')}>
      <p className="hint">{t('account.linkHint')}</p>
      {providers.map(({ providerId, name }) => (
        <Form
          key={providerId}
          submit={t('account.linkWith', { name })}
          onSubmit={async () => {
            const attempt = await client.call(initiateProviderLink, { body: { providerId } })
            leaveForProvider('link', attempt)
          }}
        />
      ))}
    </Section>
  )
}

function isIn(linked: readonly LinkedProvider[], { providerId }: Provider): boolean {
  return linked.some((each) => each.providerId === providerId)
}
