import type { Overview } from 'portal-client'
import { t } from '../../kit/i18n.ts'
import { Table } from '../../kit/list.tsx'
import { Section } from '../../kit/page.tsx'
import { Badge, type Tone } from '../../kit/states.tsx'
import { Age } from '../../kit/time.tsx'
import { MissingReplicas } from '../requests/missing.tsx'

type Replica = Overview['replicas'][number]

/** The gateways and the processes of the domains. */
export function Replicas({ replicas, missing }: Pick<Overview, 'replicas' | 'missing'>) {
  return (
    <Section title={t('overview.replicas')}>
      <MissingReplicas missing={missing} />
      <Table
        label={t('overview.replicas')}
        items={replicas}
        keyOf={({ replica }) => replica}
        columns={[
          { title: t('overview.replica'), cell: ({ replica }) => replica },
          { title: t('overview.version'), cell: ({ version }) => version },
          { title: t('overview.role'), cell: ({ role }) => t(`overview.role_${role}`) },
          {
            title: t('overview.readiness'),
            cell: ({ readiness }) => <Badge tone={tones[readiness]}>{t(`overview.readiness_${readiness}`)}</Badge>,
          },
          { title: t('overview.checks'), cell: ({ checks }) => <Checks checks={checks} /> },
          {
            title: t('overview.started'),
            cell: ({ startedAt }) => <Age at={startedAt} />,
          },
        ]}
      />
    </Section>
  )
}

/** The circuit breaker of each backend, as each replica sees it. */
export function Circuits({ circuits }: Pick<Overview, 'circuits'>) {
  return (
    <Section title={t('overview.backends')}>
      {circuits.length === 0 ? (
        <p>{t('overview.noBackends')}</p>
      ) : (
        <Table
          label={t('overview.backends')}
          items={circuits}
          keyOf={({ replica, backend }) => `${replica} ${backend}`}
          columns={[
            { title: t('overview.backend'), cell: ({ backend }) => backend },
            { title: t('overview.replica'), cell: ({ replica }) => replica },
            { title: t('overview.circuit'), cell: ({ circuit }) => <Circuit circuit={circuit} /> },
          ]}
        />
      )}
    </Section>
  )
}

const tones: Readonly<Record<Replica['readiness'], Tone>> = { ready: 'good', unready: 'bad', draining: 'waiting' }

const circuitTones: Readonly<Record<string, Tone>> = { closed: 'good', 'half open': 'waiting', open: 'bad' }

/** Only the failures have a color. */
function Checks({ checks }: Pick<Replica, 'checks'>) {
  if (checks.length === 0) return t('overview.noChecks')
  return (
    <ul className="overview-checks">
      {checks.map(({ name, result }) => (
        <li key={name}>
          <Badge tone={result === 'ok' ? 'neutral' : result === 'failed' ? 'bad' : 'waiting'}>
            {name}: {result}
          </Badge>
        </li>
      ))}
    </ul>
  )
}

/** Closed is the good state, which the name does not say to everyone. */
function Circuit({ circuit }: { circuit: string }) {
  const tone = circuitTones[circuit]
  return <Badge tone={tone ?? 'neutral'}>{tone ? t(`overview.circuit_${circuit.replace(' ', '_')}`) : circuit}</Badge>
}
