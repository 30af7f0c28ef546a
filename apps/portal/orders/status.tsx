import { Facts } from '../../kit/facts.tsx'
import { t } from '../../kit/i18n.ts'
import { Section } from '../../kit/page.tsx'
import { Badge, type Tone } from '../../kit/states.tsx'
import { Time } from '../../kit/time.tsx'

interface Status {
  code: string
  label: string
}

const tones: Readonly<Record<string, Tone>> = {
  COMPLETED: 'good',
  ACTIVE: 'good',
  PENDING_APPROVAL: 'waiting',
  PENDING_PAYMENT: 'waiting',
  PENDING_VERIFICATION: 'waiting',
  PROOF_SUBMITTED: 'waiting',
  PROCESSING: 'waiting',
  SUSPENDED: 'waiting',
  FAILED: 'bad',
  REJECTED: 'bad',
  RETURNED: 'bad',
}

function toneOf(code: string): Tone {
  return tones[code] ?? 'neutral'
}

export function StatusBadge({ status: { code, label } }: { status: Status }) {
  return <Badge tone={toneOf(code)}>{label}</Badge>
}

interface HistoryProps {
  history: readonly { status: Status; at: string; reason: string | null }[]
}

/** The states of an order with their times and reasons, oldest first. */
export function StatusHistory({ history }: HistoryProps) {
  return (
    <Section title={t('orders.history')}>
      <ol className="orders-history">
        {history.map(({ status, at, reason }) => (
          <li key={`${status.code} ${at}`}>
            <StatusBadge status={status} />
            <Time at={at} />
            {reason && <span>{reason}</span>}
          </li>
        ))}
      </ol>
    </Section>
  )
}

interface OrderFactsProps {
  order: { orderNo: string; createdAt: string; completedAt: string | null }
  status: Status
  /** Between the order number and the times. */
  facts: Parameters<typeof Facts>[0]['facts']
}

/** The facts that every order has, and its own. Facts without a value are left out. */
export function OrderFacts({ order: { orderNo, createdAt, completedAt }, status, facts }: OrderFactsProps) {
  return (
    <section className="section">
      <Facts
        facts={[
          [t('orders.status'), <StatusBadge key="status" status={status} />],
          ...facts.filter(([, value]) => value !== null),
          [t('orders.orderNo'), <code key="orderNo">{orderNo}</code>],
          [t('orders.created'), <Time key="created" at={createdAt} />],
          ...(completedAt === null
            ? []
            : [[t('orders.completed'), <Time key="completed" at={completedAt} />] as const]),
        ]}
      />
    </section>
  )
}
