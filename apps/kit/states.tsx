import { isPorticoError } from 'portal-client'
import type { ReactNode } from 'react'
import { messageOf } from './client.ts'
import { t } from './i18n.ts'

/** A place whose data has not arrived yet. */
export function Loading() {
  return (
    <p className="loading" role="status">
      {t('kit.loading')}
    </p>
  )
}

/** A list without entries. `children` says what the user can do. */
export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="empty">
      <p className="empty-title">{title}</p>
      {children}
    </div>
  )
}

interface FailureProps {
  error: unknown
  onRetry?: (() => void) | undefined
}

/** An error with the id that support needs. */
export function Failure({ error, onRetry }: FailureProps) {
  const message = messageOf(error)
  if (message === null) return null
  return (
    <div className="failure" role="alert">
      <p>{message}</p>
      {isPorticoError(error) && error.requestId !== '' && (
        <p className="hint">
          {t('kit.requestId')} <code>{error.requestId}</code>
        </p>
      )}
      {onRetry && (
        <button type="button" onClick={onRetry}>
          {t('kit.retry')}
        </button>
      )}
    </div>
  )
}

interface QueryState<Data> {
  data: Data | undefined
  error: unknown
  isPending: boolean
  refetch(): unknown
}

interface QueryViewProps<Data> {
  query: QueryState<Data>
  children(data: Data): ReactNode
}

/** Shows the data of a query of TanStack Query, or that it loads, or its error. */
export function QueryView<Data>({ query, children }: QueryViewProps<Data>) {
  if (query.data !== undefined) return children(query.data)
  if (query.isPending) return <Loading />
  return <Failure error={query.error} onRetry={() => void query.refetch()} />
}

export type Tone = 'neutral' | 'good' | 'waiting' | 'bad'

/** The label of a coded value. The text carries the meaning, the color only repeats it. */
export function Badge({ tone = 'neutral', children }: { tone?: Tone; children: ReactNode }) {
  return <span className={`badge badge-${tone}`}>{children}</span>
}
