/*
 * Completes the renderer for screen readers and keyboards: names its controls, closes gaps between heading levels, and
 * leaves one control per line.
 */
const named = {
  '#servers': 'Server',
  '.operation-filter-input': 'Filter by tag or path',
  '.examples-select-element': 'Example',
  '.body-param__text': 'Request body',
  '.modal-ux': 'Available authorizations',
  '.close-modal': 'Close',
}

const addLabels = () => {
  for (const [selector, name] of Object.entries(named))
    for (const element of document.querySelectorAll(`${selector}:not([aria-label])`))
      element.setAttribute('aria-label', name)
  for (const field of document.querySelectorAll('[data-param-name] select:not([aria-label])'))
    field.setAttribute('aria-label', field.closest('[data-param-name]').dataset.paramName)
  // The label differs from the visible text of the button.
  for (const button of document.querySelectorAll('.auth-btn-wrapper [aria-label]')) button.removeAttribute('aria-label')
  for (const heading of document.querySelectorAll(':is(h3, h4, h5):not([aria-level])'))
    heading.setAttribute('aria-level', String(Number(heading.tagName.slice(1)) - 1))
  for (const filter of document.querySelectorAll('.filter-container:not([role])')) filter.setAttribute('role', 'search')
  for (const button of document.querySelectorAll('.expand-operation:not([aria-label])'))
    button.setAttribute('aria-label', button.closest('.opblock-tag').dataset.tag)
}

new MutationObserver(addLabels).observe(document.getElementById('reference'), { childList: true, subtree: true })

/** Removes the link inside the button of an operation: both lead to the same place. */
export const accessible = ({ React }) => ({
  wrapComponents: {
    OperationSummaryPath: (Path) => (props) =>
      React.createElement(Path, { ...props, operationProps: props.operationProps.set('isDeepLinkingEnabled', false) }),
  },
})
