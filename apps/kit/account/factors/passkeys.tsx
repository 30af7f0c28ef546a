import { useQuery } from '@tanstack/react-query'
import { addPasskey, isPorticoError, listPasskeys, type Passkey, removePasskey, renamePasskey } from 'portal-client'
import { supportsPasskeys } from 'portico-client/passkeys'
import { useState } from 'react'
import { refreshData } from '../../app.tsx'
import { client } from '../../client.ts'
import { Command } from '../../command/command.tsx'
import { UserError } from '../../errors.ts'
import { Form, TextField, type Values } from '../../forms.tsx'
import { t } from '../../i18n.ts'
import { Table } from '../../list.tsx'
import { Section } from '../../page.tsx'
import { readPageSettings } from '../../settings.ts'
import { Badge, Empty, QueryView } from '../../states.tsx'
import { Age, Time } from '../../time.tsx'
import { notify } from '../../toasts.tsx'
import { SubPage } from '../sub-page.tsx'

/** The passkeys of the account. */
export default function PasskeysPage() {
  const query = useQuery({ queryKey: ['passkeys'], queryFn: () => client.call(listPasskeys) })
  return (
    <SubPage title={t('account.passkeys')}>
      <p className="hint">{t('account.passkeysHint')}</p>
      <QueryView query={query}>
        {(passkeys) =>
          passkeys.length === 0 ? <Empty title={t('account.noPasskeys')} /> : <PasskeyTable passkeys={passkeys} />
        }
      </QueryView>
      <Section title={t('account.addPasskey')}>
        <AddPasskey isFirst={query.data?.length === 0} />
      </Section>
    </SubPage>
  )
}

function PasskeyTable({ passkeys }: { passkeys: readonly Passkey[] }) {
  return (
    <Table
      label={t('account.passkeys')}
      items={passkeys}
      keyOf={({ passkeyBizId }) => passkeyBizId}
      columns={[
        { title: t('account.passkeyName'), cell: ({ name }) => name },
        { title: t('account.backup'), cell: (passkey) => <Backup passkey={passkey} /> },
        { title: t('account.added'), cell: ({ createdAt }) => <Time at={createdAt} /> },
        {
          title: t('account.lastUse'),
          cell: ({ lastUsedAt }) => <Age at={lastUsedAt} none={t('account.never')} />,
        },
        { title: t('account.action'), cell: (passkey) => <Actions passkey={passkey} /> },
      ]}
    />
  )
}

function Backup({ passkey: { backedUp, suspendedAt } }: { passkey: Passkey }) {
  if (suspendedAt !== null) return <Badge tone="bad">{t('account.suspendedPasskey')}</Badge>
  return <Badge tone={backedUp ? 'good' : 'neutral'}>{t(backedUp ? 'account.backedUp' : 'account.onOneDevice')}</Badge>
}

function Actions({ passkey: { passkeyBizId, name } }: { passkey: Passkey }) {
  return (
    <div className="account-actions">
      <Command
        label={t('account.rename')}
        subject={name}
        done={t('account.saved')}
        run={(values) => client.call(renamePasskey, { body: { passkeyBizId, name: values('name') } })}
      >
        <TextField label={t('account.passkeyName')} name="name" defaultValue={name} maxLength={64} required autoFocus />
      </Command>
      <Command
        label={t('account.remove')}
        subject={name}
        done={t('account.passkeyRemoved')}
        tone="danger"
        run={() => removePasskey(client, passkeyBizId)}
      >
        <p>{t('account.removePasskeyHint', { name })}</p>
      </Command>
    </div>
  )
}

/** Asks for the token that an operator needs for the first passkey only after the gateway did. */
function AddPasskey({ isFirst }: { isFirst: boolean }) {
  const [needsToken, setNeedsToken] = useState(false)
  if (!readPageSettings().passkeys) return <p>{t('account.passkeysOff')}</p>
  if (!supportsPasskeys()) return <p>{t('account.passkeysUnsupported')}</p>
  const add = async (values: Values, form: HTMLFormElement): Promise<void> => {
    const [name, enrollmentToken] = [values('name'), values('enrollmentToken')]
    try {
      await addPasskey(client, { ...(name && { name }), ...(enrollmentToken && { enrollmentToken }) })
    } catch (error) {
      if (isPorticoError(error, 'CLIENT.PASSKEY_EXISTS')) throw new UserError(t('account.passkeyExists'))
      if (!isPorticoError(error, 'ACCESS.PASSKEY_REQUIRED')) throw error
      setNeedsToken(true)
      // With an earlier passkey, a sign-in by it is another way.
      throw isFirst ? new UserError(t(enrollmentToken ? 'account.tokenRefused' : 'account.tokenNeeded')) : error
    }
    form.reset()
    notify(t('account.passkeyAdded'))
    await refreshData()
  }
  return (
    <Form submit={t('account.addPasskey')} onSubmit={add}>
      <TextField label={t('account.passkeyName')} name="name" maxLength={64} hint={t('account.passkeyNameHint')} />
      {needsToken && (
        <TextField
          label={t('account.enrollmentToken')}
          name="enrollmentToken"
          autoComplete="off"
          hint={t('account.enrollmentTokenHint')}
        />
      )}
    </Form>
  )
}
