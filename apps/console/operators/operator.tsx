import { useQuery } from '@tanstack/react-query'
import {
  listOperators,
  type Operator as OperatorRecord,
  proposePermissions,
  revokeOperatorPermissions,
} from 'portal-client'
import { Link } from 'wouter'
import { client } from '../../kit/client.ts'
import { Facts } from '../../kit/facts.tsx'
import { CheckField, type Values } from '../../kit/forms.tsx'
import { permissionName, t } from '../../kit/i18n.ts'
import { Page, Section } from '../../kit/page.tsx'
import { useParameter } from '../../kit/pages.tsx'
import { useSession } from '../../kit/session.tsx'
import { Empty, QueryView } from '../../kit/states.tsx'
import { Time } from '../../kit/time.tsx'
import { AccountStatusBadge } from '../accounts/status.tsx'
import { Command, CommandRow, useMissing } from '../records/command.tsx'
import { AccountLink } from '../records/links.tsx'
import { byArea } from './permissions.ts'

/** An operator with their permissions. */
export default function Operator() {
  const accountId = useParameter('accountId')
  const query = useQuery({ queryKey: ['operator', accountId], queryFn: () => findOperator(accountId) })
  return (
    <Page title={query.data?.accountEmail ?? t('operators.one')}>
      <QueryView query={query}>
        {(operator) => (operator === null ? <Empty title={t('operators.unknown')} /> : <Found operator={operator} />)}
      </QueryView>
    </Page>
  )
}

function Found({ operator }: { operator: OperatorRecord }) {
  return (
    <>
      <Section title={t('operators.facts')}>
        <Facts
          facts={[
            [t('operators.name'), operator.accountName],
            [t('operators.status'), <AccountStatusBadge key="status" status={operator.accountStatus} />],
            [t('records.created'), <Time key="created" at={operator.createdAt} />],
            [t('operators.account'), <AccountLink key="account" id={operator.bizId} />],
          ]}
        />
      </Section>
      <Section title={t('operators.permissions')}>
        {operator.permissionCodes.length === 0 && <p>{t('operators.none')}</p>}
        <div className="operators-areas">
          {byArea(operator.permissionCodes).map(({ name, codes }) => (
            <div key={name}>
              <h3>{name}</h3>
              <ul>
                {codes.map((code) => (
                  <li key={code}>{permissionName(code)}</li>
                ))}
              </ul>
            </div>
          ))}
        </div>
      </Section>
      <Section title={t('records.actions')}>
        <Commands operator={operator} />
      </Section>
    </>
  )
}

function Commands({ operator: { bizId, accountEmail, permissionCodes } }: { operator: OperatorRecord }) {
  const { accountId, permissions } = useSession()
  const own = bizId === accountId ? t('records.ownAccount') : null
  const blocked = useMissing('operator:manage') ?? own
  const noneLeft = permissionCodes.length === 0 ? t('operators.nothingToRevoke') : null
  const params = { account_id: bizId }
  const values = { email: accountEmail }
  const offered = [...new Set([...permissionCodes, ...permissions])].sort()
  const chosen = (form: Values, codes: readonly string[]) => codes.filter((code) => form(code) === 'on')
  return (
    <div className="records-rows">
      <CommandRow
        about={
          <>
            {t('operators.proposeAbout')} <Link href="/queues/proposals">{t('operators.proposals')}</Link>
          </>
        }
      >
        <Command
          label={t('operators.propose')}
          question={t('operators.proposeQuestion', values)}
          run={(form) =>
            client.call(proposePermissions, {
              params,
              body: { permissionCodes: chosen(form, offered), reason: form('reason') },
            })
          }
          done={t('operators.proposed')}
          blocked={blocked}
          asksReason
        >
          <Choices codes={offered} isChecked={(code) => permissionCodes.includes(code)} />
        </Command>
      </CommandRow>
      <CommandRow about={t('operators.revokeAbout')}>
        <Command
          label={t('operators.revoke')}
          question={t('operators.revokeQuestion', values)}
          run={(form) =>
            client.call(revokeOperatorPermissions, {
              params,
              body: { permissionCodes: chosen(form, permissionCodes), reason: form('reason') },
            })
          }
          done={t('operators.revoked')}
          blocked={blocked ?? noneLeft}
          tone="danger"
          asksReason
        >
          <Choices codes={permissionCodes} isChecked={() => false} />
        </Command>
      </CommandRow>
    </div>
  )
}

function Choices({ codes, isChecked }: { codes: readonly string[]; isChecked(code: string): boolean }) {
  return byArea(codes).map(({ name, codes: ofArea }) => (
    <fieldset key={name} className="operators-choices">
      <legend>{name}</legend>
      {ofArea.map((code) => (
        <CheckField key={code} name={code} label={permissionName(code)} defaultChecked={isChecked(code)} />
      ))}
    </fieldset>
  ))
}

async function findOperator(accountId: string): Promise<OperatorRecord | null> {
  return (await client.call(listOperators, { query: { accountId } })).items[0] ?? null
}
