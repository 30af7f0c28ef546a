import { useQuery } from '@tanstack/react-query'
import { readOverview, type Overview as State } from 'portal-client'
import { client } from '../../kit/client.ts'
import { formatInstant } from '../../kit/format.ts'
import { permissionName, t } from '../../kit/i18n.ts'
import { Page, Section } from '../../kit/page.tsx'
import { usePermission } from '../../kit/session.tsx'
import { Failure, QueryView } from '../../kit/states.tsx'
import { Circuits, Replicas } from './deployment.tsx'
import { Health } from './health.tsx'
import { Traffic } from './traffic.tsx'
import { Trials } from './trials.tsx'
import { Waiting } from './waiting.tsx'
import { WaitingByLists } from './waiting-by-lists.tsx'

const refreshMs = 10_000

/** What waits for the operator, and the state of the deployment. */
export default function Overview() {
  return usePermission('gateway:observe') ? <Observed /> : <Unobserved />
}

/** A hidden page does not refresh. */
function Observed() {
  const query = useQuery({
    queryKey: ['overview'],
    queryFn: () => client.call(readOverview),
    refetchInterval: refreshMs,
  })
  return (
    <Page
      title={t('overview.title')}
      actions={query.data && <p className="hint">{t('overview.updated', { time: formatInstant(query.data.at) })}</p>}
    >
      <QueryView query={query}>
        {(state) => (
          <>
            {query.error !== null && <Failure error={query.error} onRetry={() => void query.refetch()} />}
            <Parts state={state} />
          </>
        )}
      </QueryView>
    </Page>
  )
}

function Parts({ state }: { state: State }) {
  const { queues, minutes, replicas, missing, circuits, trials } = state
  return (
    <>
      <Waiting queues={queues} />
      <Health {...state} />
      <Traffic minutes={minutes} />
      <Replicas replicas={replicas} missing={missing} />
      <Circuits circuits={circuits} />
      <Trials trials={trials} />
    </>
  )
}

function Unobserved() {
  return (
    <Page title={t('overview.title')}>
      <WaitingByLists />
      <Section title={t('overview.deployment')}>
        <p>{t('overview.needsObserve', { permission: permissionName('gateway:observe') })}</p>
      </Section>
    </Page>
  )
}
