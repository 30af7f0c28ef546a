import { Toast } from '@base-ui/react/toast'
import { t } from './i18n.ts'

const manager = Toast.createToastManager()

/** Tells the user that something has happened. Screen readers announce it. */
export function notify(title: string): void {
  manager.add({ title })
}

/** The place of the notices. One per page. */
export function Toasts() {
  return (
    <Toast.Provider toastManager={manager}>
      <Toast.Portal>
        <Toast.Viewport className="toasts">
          <List />
        </Toast.Viewport>
      </Toast.Portal>
    </Toast.Provider>
  )
}

function List() {
  const { toasts } = Toast.useToastManager()
  return toasts.map((toast) => (
    <Toast.Root key={toast.id} toast={toast} className="toast">
      <Toast.Title render={<p />} />
      <Toast.Close className="quiet" aria-label={t('kit.close')}>
        ×
      </Toast.Close>
    </Toast.Root>
  ))
}
