import type { CreateExportRequest } from 'portal-client'
import type { Values } from '../../kit/forms.tsx'
import { instantOf } from '../../kit/local-time.ts'
import {
  directions,
  type ExportType,
  exchangeStatuses,
  flowTypes,
  formats,
  oneOf,
  rechargeStatuses,
  transferStatuses,
  withdrawalStatuses,
} from './types.ts'

/** The request for the values of the form. Empty fields do not filter. */
export function exportRequest(
  exportType: ExportType,
  values: Values,
  timeZone: string | undefined,
): CreateExportRequest {
  const format = oneOf(formats, values('format')) ?? 'CSV'
  const text = (name: string): string | undefined => values(name) || undefined
  const interval = {
    startTime: instantOf(values('startTime'), timeZone),
    endTime: instantOf(values('endTime'), timeZone),
  }
  const order = { ...interval, orderNo: text('orderNo') }
  const walletId = text('walletId')
  const status = values('status')
  switch (exportType) {
    case 'FLOWS': {
      const flowType = oneOf(flowTypes, values('flowType'))
      const direction = oneOf(directions, values('direction'))
      return { exportType, format, filters: { ...interval, walletId, flowType, direction } }
    }
    case 'TRANSFERS': {
      const transferStatus = oneOf(transferStatuses, status)
      return { exportType, format, filters: { ...order, walletId, transferStatus, clientReference: text('reference') } }
    }
    case 'EXCHANGES': {
      const [sourceCurrency, targetCurrency] = [text('sourceCurrency'), text('targetCurrency')]
      const exchangeStatus = oneOf(exchangeStatuses, status)
      return { exportType, format, filters: { ...order, sourceCurrency, targetCurrency, exchangeStatus } }
    }
    case 'RECHARGES': {
      const rechargeStatus = oneOf(rechargeStatuses, status)
      const externalReference = text('reference')
      return { exportType, format, filters: { ...order, walletId, rechargeStatus, externalReference } }
    }
    case 'WITHDRAWALS': {
      const withdrawalStatus = oneOf(withdrawalStatuses, status)
      const externalReference = text('reference')
      return { exportType, format, filters: { ...order, walletId, withdrawalStatus, externalReference } }
    }
    case 'LOGIN_HISTORY':
      return { exportType, format, filters: interval }
  }
}
