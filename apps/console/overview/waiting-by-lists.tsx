import { useQueries } from '@tanstack/react-query'
import { useAttendance } from '../../kit/attendance.ts'
import { useSession } from '../../kit/session.tsx'
import { Failure, Loading } from '../../kit/states.tsx'
import { listedQueues } from './queues.ts'
import { Waiting } from './waiting.tsx'

/** Reads one list per queue, so it refreshes less often than the overview of the gateway. */
const refreshMs = 30_000

/** The work that waits, for operators who cannot read the overview of the gateway. */
export function WaitingByLists() {
  const { permissions } = useSession()
  const seen = listedQueues.filter(({ listPermission }) => permissions.has(listPermission))
  const isAttended = useAttendance()
  const results = useQueries({
    queries: seen.map(({ queue, read }) => ({
      queryKey: ['overview', queue],
      queryFn: read,
      refetchInterval: isAttended ? refreshMs : false,
    })),
  })
  const failed = results.find(({ error }) => error !== null)
  if (results.some(({ isPending }) => isPending)) return <Loading />
  const queues = seen.flatMap(({ queue, decidePermissions }, at) => {
    const page = results[at]?.data
    if (!page) return []
    return {
      queue,
      waiting: page.items.length,
      isCut: (page.nextCursor ?? null) !== null,
      oldestAt: page.items[0]?.createdAt ?? null,
      canDecide: decidePermissions.some((permission) => permissions.has(permission)),
    }
  })
  return (
    <>
      {failed && <Failure error={failed.error} onRetry={() => void failed.refetch()} />}
      <Waiting queues={queues} />
    </>
  )
}
