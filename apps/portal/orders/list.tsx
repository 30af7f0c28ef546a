import { Link } from 'wouter'
import { formatMoney } from '../../kit/format.ts'
import { t } from '../../kit/i18n.ts'
import { type Column, Table } from '../../kit/list.tsx'
import { Time } from '../../kit/time.tsx'
import { Permitted } from '../permissions/permissions.tsx'

interface Order {
  bizId: string
  orderNo: string
  createdAt: string
}

interface TableProps<Item extends Order> {
  label: string
  orders: readonly Item[]
  /** The page of the list, such as `/transfers`. Those of the orders are below it. */
  path: string
  /** After the number and the time. */
  columns: readonly Column<NoInfer<Item>>[]
}

/** Orders with links to their pages. */
export function OrderTable<Item extends Order>({ label, orders, path, columns }: TableProps<Item>) {
  return (
    <Table
      label={label}
      items={orders}
      keyOf={({ bizId }) => bizId}
      columns={[
        { title: t('orders.orderNo'), cell: ({ bizId, orderNo }) => <Link href={`${path}/${bizId}`}>{orderNo}</Link> },
        { title: t('orders.created'), cell: ({ createdAt }) => <Time at={createdAt} /> },
        ...columns,
      ]}
    />
  )
}

/** The column of the amounts of orders in one currency. */
export const amountColumn = {
  title: t('orders.amount'),
  align: 'end',
  cell: ({ amount, currency }: { amount: string; currency: string }) => formatMoney(amount, currency),
} as const

interface NewOrderProps {
  href: string
  permission: string
  label: string
}

/** The link to the form for an order, or the missing permission. */
export function NewOrder({ href, permission, label }: NewOrderProps) {
  return (
    <Permitted permission={permission}>
      <Link className="button primary" href={href}>
        {label}
      </Link>
    </Permitted>
  )
}
