import { type ReactNode, useId } from 'react'
import { useSearchParams } from 'wouter'
import { t } from '../../kit/i18n.ts'
import { instantOf } from '../../kit/local-time.ts'
import { useTimeZone } from '../../kit/time.tsx'
import { useWallets, walletLabel } from './wallets.tsx'

/** Filters of a list, which the URL keeps. */
export function Filters({ children }: { children: ReactNode }) {
  return (
    <search className="orders-filters" aria-label={t('orders.filters')}>
      {children}
    </search>
  )
}

/** The value of a filter in the URL, or undefined. */
export function useFilter(name: string): [value: string | undefined, set: (value: string) => void] {
  const [search, setSearch] = useSearchParams()
  const set = (value: string): void =>
    setSearch(
      (current) => {
        const next = new URLSearchParams(current)
        if (value === '') next.delete(name)
        else next.set(name, value)
        return next
      },
      { replace: true },
    )
  return [search.get(name) || undefined, set]
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

/** The two filters of `useInterval`. */
export function IntervalFilter() {
  return (
    <>
      <InputFilter name="since" label={t('orders.since')} type="date" />
      <InputFilter name="until" label={t('orders.until')} type="date" />
    </>
  )
}

interface ChoiceProps {
  name: string
  label: string
  /** The choice without a filter. */
  any: string
  options: readonly { value: string; label: string }[]
}

export function ChoiceFilter({ name, label, any, options }: ChoiceProps) {
  const id = useId()
  const [value = '', set] = useFilter(name)
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select id={id} value={value} onChange={(event) => set(event.currentTarget.value)}>
        <option value="">{any}</option>
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
    </div>
  )
}

export function StatusFilter({ codes }: { codes: readonly string[] }) {
  const options = codes.map((value) => ({ value, label: t(`orders.status_${value}`) }))
  return <ChoiceFilter name="status" label={t('orders.status')} any={t('orders.anyStatus')} options={options} />
}

export function WalletFilter() {
  const { wallets } = useWallets()
  const options = wallets.map((wallet) => ({ value: wallet.bizId, label: walletLabel(wallet) }))
  return <ChoiceFilter name="wallet" label={t('orders.wallet')} any={t('orders.anyWallet')} options={options} />
}

/** A text is applied by Enter, or when the user leaves the field. */
export function InputFilter({ name, label, type }: { name: string; label: string; type: 'search' | 'date' }) {
  const id = useId()
  const [value = '', set] = useFilter(name)
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        key={value}
        id={id}
        type={type}
        defaultValue={value}
        onBlur={(event) => set(event.currentTarget.value.trim())}
        onKeyDown={(event) => {
          if (event.key === 'Enter') set(event.currentTarget.value.trim())
        }}
      />
    </div>
  )
}
