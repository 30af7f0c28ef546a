import type { ConfirmedTexts, Purpose } from '../kernel/index.ts'

/** A document has no functions. Instead, the names of its confirmed fields tell what they are. */
export function purposeByNames({ ...confirmed }: ConfirmedTexts): Purpose {
  const { amount, currency, email, roleBizId, userBizId, account_id, withdrawalChannelBizId, withdrawal_channel_id } =
    confirmed
  const { sourceWalletBizId, targetWalletBizId, walletBizId, wallet_id } = confirmed
  return {
    amount,
    currency,
    wallet: sourceWalletBizId ?? walletBizId ?? wallet_id,
    role: roleBizId,
    payee: {
      withdrawalChannel: withdrawalChannelBizId ?? withdrawal_channel_id,
      wallet: targetWalletBizId,
      account: userBizId ?? account_id,
      email,
    },
  }
}
