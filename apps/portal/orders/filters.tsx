import type { ReactNode } from 'react'
import { ChoiceFilter, Filters, InputFilter, useFilter } from '../../kit/filters.tsx'
import { t } from '../../kit/i18n.ts'
import { instantOf } from '../../kit/local-time.ts'
import { useTimeZone } from '../../kit/time.tsx'
import { useWallets, walletLabel } from './wallets.tsx'

interface Props {
  statuses: readonly string[]
  hasWallets?: boolean
  /** The filters that only one kind of orders has. */
  children?: ReactNode
}

/** The filters of a list of orders. */
export function OrderFilters({ statuses, hasWallets = true, children }: Props) {
  return (
    <Filters>
      <StatusFilter statuses={statuses} />
      {hasWallets && <WalletFilter />}
      <IntervalFilter />
      <InputFilter name="order" label={t('orders.orderNo')} type="search" />
      {children}
    </Filters>
  )
}

/** The two filters of `useInterval`. */
export function IntervalFilter() {
  return (
    <>
      <InputFilter name="since" label={t('orders.since')} type="date" />
      <InputFilter name="until" label={t('orders.until')} type="date" />
    </>
  )
}

/** `startTime` and `endTime` of the filters `since` and `until`: whole days in the time zone of the workspace. */
export function useInterval(): { startTime: string | undefined; endTime: string | undefined } {
  const timeZone = useTimeZone()
  const [since] = useFilter('since')
  const [until] = useFilter('until')
  return {
    startTime: since && instantOf(`${since}T00:00:00.000`, timeZone),
    endTime: until && instantOf(`${until}T23:59:59.999`, timeZone),
  }
}

function StatusFilter({ statuses }: { statuses: readonly string[] }) {
  const options = statuses.map((value) => ({ value, label: t(`orders.status_${value}`) }))
  const any = { value: '', label: t('orders.anyStatus') }
  return <ChoiceFilter name="status" label={t('orders.status')} options={[any, ...options]} />
}

function WalletFilter() {
  const { wallets } = useWallets()
  const options = wallets.map((wallet) => ({ value: wallet.bizId, label: walletLabel(wallet) }))
  const any = { value: '', label: t('orders.anyWallet') }
  return <ChoiceFilter name="wallet" label={t('orders.wallet')} options={[any, ...options]} />
}
