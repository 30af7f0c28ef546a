import type { WorkspaceKindCode } from 'portal-client'
import { useSearchParams } from 'wouter'
import { ChoiceFilter, Filters, useFilter } from '../../../kit/filters.tsx'
import { t } from '../../../kit/i18n.ts'
import { WorkspaceLink } from './people.tsx'

interface QueueFilter<Status extends string> {
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

interface FiltersProps {
  /** The first one is that of the items that wait. */
  statuses: readonly string[]
  hasWorkspaces?: boolean
}

export function QueueFilters({ statuses, hasWorkspaces = true }: FiltersProps) {
  const [workspaceId] = useFilter('workspaceId')
  const every = { value: all, label: t('queues.all') }
  return (
    <Filters>
      <ChoiceFilter
        name="status"
        label={t('queues.status')}
        options={[...statuses.map((value) => ({ value, label: t(`queues.status_${value}`) })), every]}
      />
      {hasWorkspaces && (
        <ChoiceFilter
          name="workspaceKind"
          label={t('queues.kind')}
          options={[every, ...kinds.map((value) => ({ value, label: t(`queues.kind_${value}`) }))]}
        />
      )}
      {workspaceId !== undefined && <WorkspaceFilter id={workspaceId} />}
    </Filters>
  )
}

function WorkspaceFilter({ id }: { id: string }) {
  const [, set] = useFilter('workspaceId')
  return (
    <p className="queues-workspace-filter">
      <span>
        {t('queues.workspace')} <WorkspaceLink id={id} />
      </span>
      <button type="button" onClick={() => set('')}>
        {t('queues.allWorkspaces')}
      </button>
    </p>
  )
}
