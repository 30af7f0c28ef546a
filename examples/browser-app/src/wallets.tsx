import type { Wallet } from 'portico-client'
import { useCallback, useEffect, useState } from 'react'
import { client, textOf } from './client.ts'
import { Form } from './form.tsx'

interface WalletRow extends Wallet {
  available: string
}

async function readWallets(): Promise<WalletRow[]> {
  const rows = (await client.listWallets()).map(async (wallet) => {
    const { workspaceBizId: workspaceId, bizId } = wallet
    const { availableBalance } = await client.readBalance({ workspaceId, params: { wallet_id: bizId } })
    return { ...wallet, available: availableBalance }
  })
  return Promise.all(rows)
}

export function Wallets() {
  const [wallets, setWallets] = useState<WalletRow[]>([])
  const [message, setMessage] = useState<string | null>(null)
  const refresh = useCallback(() => readWallets().then(setWallets), [])
  useEffect(() => {
    refresh().catch((error: unknown) => setMessage(textOf(error)))
  }, [refresh])

  const transfer = async (valueOf: (name: string) => string): Promise<void> => {
    setMessage(null)
    const source = wallets.find(({ bizId }) => bizId === valueOf('source'))
    if (!source) return
    const order = await client.createTransfer({
      workspaceId: source.workspaceBizId,
      body: {
        sourceWalletBizId: source.bizId,
        targetWalletBizId: valueOf('target').trim(),
        amount: valueOf('amount').trim(),
        currency: source.currency,
      },
    })
    setMessage(`${order.orderNo}: ${order.transferStatus.label}`)
    await refresh()
  }

  return (
    <>
      <button type="button" onClick={() => client.signOut().catch((error: unknown) => setMessage(textOf(error)))}>
        Sign out
      </button>
      <h2>Wallets</h2>
      <table>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Available</th>
          </tr>
        </thead>
        <tbody>
          {wallets.map(({ bizId, walletName, available, currency }) => (
            <tr key={bizId}>
              <th scope="row">{walletName}</th>
              <td>
                {available} {currency}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <h2>Transfer</h2>
      <Form button="Transfer" onSubmit={transfer}>
        <label>
          From
          <select name="source">
            {wallets.map(({ bizId, walletName }) => (
              <option key={bizId} value={bizId}>
                {walletName}
              </option>
            ))}
          </select>
        </label>
        <label>
          To (wallet id)
          <input name="target" required />
        </label>
        <label>
          Amount
          <input name="amount" inputMode="decimal" required />
        </label>
      </Form>
      <p role="status">{message}</p>
    </>
  )
}
