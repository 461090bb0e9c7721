"""What a CertificateSigningRequest may look like."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable

from homeostat.objects.errors import Cause, duplicate, invalid, required, too_long, unsupported
from homeostat.objects.identifiers import dns1123_label, dns1123_subdomain
from homeostat.objects.json import JsonObject
from homeostat.objects.memory.cache import cached
from homeostat.server.kinds.builtins.members import integer, items, numbered, strings, struct, text
from homeostat.server.kinds.builtins.value import is_integer

_MIN_SECONDS = 600
_MAX_DOMAIN = 253
_LEGACY = "kubernetes.io/legacy-unknown"
_ONLY_TRUE = frozenset({"Approved", "Denied", "Failed"})
_USAGES = (
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
)


def _check_request(obj: JsonObject) -> list[Cause]:
    spec, status = struct(obj, "spec"), struct(obj, "status")
    causes: list[Cause] = []
    if fault := _request_fault(text(spec, "request")):
        causes.append(invalid("spec.request", text(spec, "request"), fault))
    causes += _check_usages(spec)
    causes += _check_signer(text(spec, "signerName"), "spec.signerName")
    seconds = spec.get("expirationSeconds")
    if is_integer(seconds) and integer(spec, "expirationSeconds") < _MIN_SECONDS:
        message = "may not specify a duration less than 600 seconds (10 minutes)"
        causes.append(invalid("spec.expirationSeconds", seconds, message))
    causes += _check_conditions(status)
    if fault := _certificate_fault(text(status, "certificate")):
        causes.append(invalid("status.certificate", "<certificate data>", fault))
    return causes


def _check_usages(spec: JsonObject) -> list[Cause]:
    usages = strings(spec, "usages")
    causes = [] if items(spec, "usages") else [required("spec.usages")]
    causes += [
        unsupported(f"spec.usages[{index}]", each, _USAGES) for index, each in enumerate(usages) if each not in _USAGES
    ]
    seen: set[str] = set()
    for index, each in enumerate(usages):
        if each in seen:
            causes.append(duplicate(f"spec.usages[{index}]", each))
        seen.add(each)
    return causes


def _check_signer(name: str, path: str) -> list[Cause]:
    if not name:
        return [required(path)]
    if name == _LEGACY:
        return [invalid(path, name, "the legacy signerName is not allowed via this API version")]
    domain, slash, own = name.partition("/")
    if not slash or "/" in own:
        return [invalid(path, name, "must be a fully qualified domain and path of the form 'example.com/signer-name'")]
    causes = [too_long(path, _MAX_DOMAIN)] if len(domain) > _MAX_DOMAIN else []
    for label in domain.split("."):
        if messages := dns1123_label(label):
            causes += [invalid(path, domain, f'validating label "{label}": {each}') for each in messages]
            break
    if "." not in domain:
        causes.append(invalid(path, domain, "should be a domain with at least two segments separated by dots"))
    return causes + [invalid(path, own, each) for each in dns1123_subdomain(own)]


def _check_conditions(status: JsonObject) -> list[Cause]:
    causes: list[Cause] = []
    seen: set[str] = set()
    for at, condition in numbered(status, "conditions", "status"):
        kind, value = text(condition, "type"), text(condition, "status")
        if not kind:
            causes.append(required(f"{at}.type"))
        allowed = ("True",) if kind in _ONLY_TRUE else ("False", "True", "Unknown")
        if not value:
            causes.append(required(f"{at}.status"))
        elif value not in allowed:
            causes.append(unsupported(f"{at}.status", value, allowed))
        if {"Approved": "Denied", "Denied": "Approved"}.get(kind) in seen:
            message = "Approved and Denied conditions are mutually exclusive"
            causes.append(invalid("status.conditions", kind, message))
        if kind in seen:
            causes.append(duplicate(f"{at}.type", kind))
        seen.add(kind)
    return causes


@cached(32, longest=64 * 1024)
def _request_fault(encoded: str) -> str:
    """What is wrong with the PEM of a request, in base64. A request is checked again at each write of its object."""
    from homeostat.server.pki.signing_request import read_request

    return _fault(read_request, encoded)


def _certificate_fault(encoded: str) -> str:
    if not encoded:
        return ""
    from homeostat.server.pki.signing_request import check_certificates

    return _fault(check_certificates, encoded)


def _fault(check: Callable[[bytes], object], encoded: str) -> str:
    try:
        check(b64decode(encoded))
    except ValueError as error:
        return str(error)
    return ""


CHECKS = {("certificates.k8s.io", "CertificateSigningRequest"): _check_request}
