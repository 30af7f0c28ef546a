import { invitePerson, listOperators, type Operator } from 'portal-client'
import { Link, useSearchParams } from 'wouter'
import { client } from '../../kit/client.ts'
import { formatCount, formatTime } from '../../kit/format.ts'
import { SelectField, TextField } from '../../kit/forms.tsx'
import { t } from '../../kit/i18n.ts'
import { ListQuery, Table } from '../../kit/list.tsx'
import { Page } from '../../kit/page.tsx'
import { Time } from '../../kit/time.tsx'
import { AccountStatusBadge } from '../accounts/status.tsx'
import { Command, useMissing } from '../records/command.tsx'
import { ExportRows } from '../records/export-rows.tsx'
import { Filters, oneOf } from '../records/filters.tsx'
import { portalNames, portalOptions } from '../records/portals.ts'

/** The operators and the number of their permissions. */
export default function Operators() {
  const [search] = useSearchParams()
  const accountEmail = search.get('email') ?? undefined
  return (
    <Page title={t('operators.title')} actions={<Invite />}>
      <p>
        {t('operators.fourEyes')} <Link href="/queues/proposals">{t('operators.proposals')}</Link>
      </p>
      <Filters label={t('operators.filters')} filters={filters} />
      <ListQuery
        queryKey={['operators', accountEmail]}
        read={(before) => client.call(listOperators, { query: { accountEmail, before } })}
        empty={t('operators.empty')}
      >
        {(operators) => (
          <>
            <Table
              label={t('operators.title')}
              items={operators}
              keyOf={({ bizId }) => bizId}
              columns={[
                {
                  title: t('operators.email'),
                  cell: ({ bizId, accountEmail: email }) => <Link href={`/operators/${bizId}`}>{email}</Link>,
                },
                { title: t('operators.name'), cell: ({ accountName }) => accountName },
                {
                  title: t('operators.status'),
                  cell: ({ accountStatus }) => <AccountStatusBadge status={accountStatus} />,
                },
                {
                  title: t('operators.permissions'),
                  align: 'end',
                  cell: ({ permissionCodes }) => formatCount(permissionCodes.length),
                },
                { title: t('records.created'), cell: ({ createdAt }) => <Time at={createdAt} /> },
              ]}
            />
            <ExportRows name="operators" header={header} rows={() => operators.map(rowOf)} />
          </>
        )}
      </ListQuery>
    </Page>
  )
}

/** Invites a person of an identity provider. */
function Invite() {
  const blocked = useMissing('operator:manage')
  return (
    <Command
      label={t('operators.invite')}
      question={t('operators.inviteQuestion')}
      run={(form) => {
        const accountPortal = oneOf(portalNames, form('accountPortal')) ?? 'SYSTEM'
        return client.call(invitePerson, {
          body: { accountPortal, providerId: form('providerId'), email: form('email') },
        })
      }}
      done={({ email, expiresAt }) => t('operators.invited', { email, until: formatTime(expiresAt) })}
      blocked={blocked}
    >
      <SelectField
        label={t('operators.portal')}
        name="accountPortal"
        options={portalOptions.toSorted((a, b) => Number(b.value === 'SYSTEM') - Number(a.value === 'SYSTEM'))}
      />
      <TextField label={t('operators.provider')} name="providerId" required autoComplete="off" />
      <TextField label={t('operators.email')} name="email" type="email" required autoComplete="off" />
    </Command>
  )
}

const filters = [{ name: 'email', label: t('operators.email') }]

const header = ['bizId', 'accountEmail', 'accountName', 'accountStatus', 'permissionCodes', 'createdAt']

function rowOf({ bizId, accountEmail, accountName, accountStatus, permissionCodes, createdAt }: Operator) {
  return [bizId, accountEmail, accountName, accountStatus.code, permissionCodes.join(' '), createdAt]
}
