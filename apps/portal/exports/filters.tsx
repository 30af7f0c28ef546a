import { useQuery } from '@tanstack/react-query'
import { listWallets } from 'portal-client'
import { client } from '../../kit/client.ts'
import { SelectField, TextField } from '../../kit/forms.tsx'
import { t } from '../../kit/i18n.ts'
import { usePermission } from '../../kit/session.tsx'
import { useWorkspace } from '../workspace.tsx'
import { directions, type ExportType, flowTypes, statusesOf } from './types.ts'

/** The fields by which a list can be filtered. All are optional. */
export function Filters({ type }: { type: ExportType }) {
  const isOrder = type !== 'FLOWS' && type !== 'LOGIN_HISTORY'
  return (
    <fieldset className="exports-filters">
      <legend>{t('exports.filters')}</legend>
      <TextField label={t('exports.start')} name="startTime" type="datetime-local" hint={t('exports.timeHint')} />
      <TextField label={t('exports.end')} name="endTime" type="datetime-local" />
      {type !== 'LOGIN_HISTORY' && type !== 'EXCHANGES' && <WalletField />}
      {type === 'FLOWS' && (
        <>
          <Choice
            label={t('exports.flowType')}
            name="flowType"
            values={flowTypes}
            text={(each) => t(`exports.flow_${each}`)}
          />
          <Choice
            label={t('exports.direction')}
            name="direction"
            values={directions}
            text={(each) => t(`exports.direction_${each}`)}
          />
        </>
      )}
      {isOrder && (
        <>
          <Choice
            label={t('exports.status')}
            name="status"
            values={statusesOf[type]}
            text={(each) => t(`exports.status_${each}`)}
          />
          <TextField label={t('exports.orderNo')} name="orderNo" autoComplete="off" />
        </>
      )}
      {type === 'EXCHANGES' && (
        <>
          <TextField label={t('exports.sourceCurrency')} name="sourceCurrency" autoComplete="off" maxLength={12} />
          <TextField label={t('exports.targetCurrency')} name="targetCurrency" autoComplete="off" maxLength={12} />
        </>
      )}
      {isOrder && type !== 'EXCHANGES' && (
        <TextField label={t('exports.reference')} name="reference" autoComplete="off" />
      )}
    </fieldset>
  )
}

function WalletField() {
  const { workspaceBizId: workspaceId } = useWorkspace().workspace
  const { data = [] } = useQuery({
    queryKey: ['wallets', workspaceId],
    queryFn: () => client.call(listWallets, { workspaceId }),
    enabled: usePermission('wallet:read'),
  })
  return (
    <SelectField
      label={t('exports.wallet')}
      name="walletId"
      options={[
        { value: '', label: t('exports.any') },
        ...data.map(({ bizId, walletName, currency }) => ({ value: bizId, label: `${walletName} (${currency})` })),
      ]}
    />
  )
}

interface ChoiceProps {
  label: string
  name: string
  values: readonly string[]
  text(value: string): string
}

function Choice({ label, name, values, text }: ChoiceProps) {
  return (
    <SelectField
      label={label}
      name={name}
      options={[{ value: '', label: t('exports.any') }, ...values.map((value) => ({ value, label: text(value) }))]}
    />
  )
}
