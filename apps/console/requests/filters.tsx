import type { ListRequestsQuery } from 'portal-client'
import { useSearchParams } from 'wouter'
import { CheckField, SelectField, TextField } from '../../kit/forms.tsx'
import { t } from '../../kit/i18n.ts'

const outcomes = ['passed', 'refused', 'failed', 'abandoned'] as const
const texts = ['operation', 'code', 'requestId', 'accountId', 'workspaceId'] as const
const labels: Readonly<Record<(typeof texts)[number], string>> = {
  operation: 'requests.operation',
  code: 'requests.code',
  requestId: 'requests.requestId',
  accountId: 'requests.accountId',
  workspaceId: 'requests.workspaceId',
}
const names = ['outcome', ...texts, 'own'] as const

interface RequestFilter {
  query: Pick<ListRequestsQuery, 'outcome' | (typeof texts)[number]>
  /** Whether the list contains the requests of the console for its own views. */
  showsOwn: boolean
}

/** The filter in the URL. */
export function useRequestFilter(): RequestFilter {
  const [search] = useSearchParams()
  const text = (name: string): string | undefined => search.get(name) ?? undefined
  const query = {
    outcome: outcomes.find((each) => each === search.get('outcome')),
    operation: text('operation'),
    code: text('code'),
    requestId: text('requestId'),
    accountId: text('accountId'),
    workspaceId: text('workspaceId'),
  }
  const isNamed = query.requestId !== undefined || query.operation?.startsWith('observations.')
  return { query, showsOwn: search.has('own') || isNamed === true }
}

export function Filters() {
  const [search, setSearch] = useSearchParams()
  const apply = (data: FormData): void =>
    setSearch((before) => {
      const next = new URLSearchParams(before)
      for (const name of names) {
        const value = data.get(name)
        const text = typeof value === 'string' ? value.trim() : ''
        if (text === '') next.delete(name)
        else next.set(name, text)
      }
      return next
    })
  return (
    <search>
      {/* Fields take new values, such as after "back", only when they are created. */}
      <form
        key={search.toString()}
        className="filters requests-filters"
        aria-label={t('requests.filters')}
        onSubmit={(event) => {
          event.preventDefault()
          apply(new FormData(event.currentTarget))
        }}
      >
        <SelectField
          label={t('requests.outcome')}
          name="outcome"
          defaultValue={search.get('outcome') ?? ''}
          options={[
            { value: '', label: t('requests.any') },
            ...outcomes.map((value) => ({ value, label: t(`requests.outcome_${value}`) })),
          ]}
        />
        {texts.map((name) => (
          <TextField
            key={name}
            label={t(labels[name])}
            name={name}
            defaultValue={search.get(name) ?? ''}
            autoComplete="off"
            spellCheck={false}
          />
        ))}
        <CheckField label={t('requests.own')} name="own" defaultChecked={search.has('own')} />
        <div className="form-actions">
          <button type="submit">{t('requests.filter')}</button>
          {names.some((name) => search.has(name)) && (
            <button type="button" className="quiet" onClick={() => apply(new FormData())}>
              {t('requests.clear')}
            </button>
          )}
        </div>
      </form>
    </search>
  )
}
