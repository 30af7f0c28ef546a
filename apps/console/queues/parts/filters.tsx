import type { WorkspaceKindCode } from 'portal-client'
import { useId } from 'react'
import { useSearchParams } from 'wouter'
import { t } from '../../../kit/i18n.ts'
import { WorkspaceLink } from './people.tsx'

export interface QueueFilter<Status extends string> {
  /** Undefined for every status. */
  status: Status | undefined
  workspaceId: string | undefined
  workspaceKind: WorkspaceKindCode | undefined
  /** The item that has waited longest comes first. Decided items: the newest. */
  sortOrder: 'asc' | 'desc'
}

const all = 'ALL'
const kinds: readonly WorkspaceKindCode[] = ['LIVE', 'SANDBOX']

/** The filter in the URL. Without a status, the queue shows those that wait. */
export function useQueueFilter<Status extends string>(
  statuses: readonly Status[],
  waiting: readonly [Status, ...Status[]],
): QueueFilter<Status> {
  const [search] = useSearchParams()
  const named = search.get('status')
  const status = named === all ? undefined : (statuses.find((each) => each === named) ?? waiting[0])
  return {
    status,
    workspaceId: search.get('workspaceId') ?? undefined,
    workspaceKind: kinds.find((each) => each === search.get('workspaceKind')),
    sortOrder: status !== undefined && waiting.includes(status) ? 'asc' : 'desc',
  }
}

interface FiltersProps<Status extends string> {
  statuses: readonly Status[]
  filter: QueueFilter<Status>
  hasWorkspaces?: boolean
}

export function Filters<Status extends string>({ statuses, filter, hasWorkspaces = true }: FiltersProps<Status>) {
  const [, setSearch] = useSearchParams()
  const change = (name: string, value: string | null): void =>
    setSearch((search) => {
      if (value === null) search.delete(name)
      else search.set(name, value)
      return search
    })
  return (
    <div className="filters">
      <Choice
        label={t('queues.status')}
        value={filter.status ?? all}
        options={[...statuses.map((code) => [code, t(`queues.status_${code}`)] as const), [all, t('queues.all')]]}
        onChange={(value) => change('status', value)}
      />
      {hasWorkspaces && (
        <Choice
          label={t('queues.kind')}
          value={filter.workspaceKind ?? all}
          options={[[all, t('queues.all')], ...kinds.map((code) => [code, t(`queues.kind_${code}`)] as const)]}
          onChange={(value) => change('workspaceKind', value === all ? null : value)}
        />
      )}
      {filter.workspaceId !== undefined && (
        <p className="queues-workspace-filter">
          <span>
            {t('queues.workspace')} <WorkspaceLink id={filter.workspaceId} />
          </span>
          <button type="button" onClick={() => change('workspaceId', null)}>
            {t('queues.allWorkspaces')}
          </button>
        </p>
      )}
    </div>
  )
}

interface ChoiceProps {
  label: string
  value: string
  options: readonly (readonly [value: string, label: string])[]
  onChange(value: string): void
}

/** Follows the URL, unlike a field of a form. */
function Choice({ label, value, options, onChange }: ChoiceProps) {
  const id = useId()
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select id={id} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {options.map(([code, text]) => (
          <option key={code} value={code}>
            {text}
          </option>
        ))}
      </select>
    </div>
  )
}
