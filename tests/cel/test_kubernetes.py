"""The functions that Kubernetes adds to the language; the oracle does not have them."""

from __future__ import annotations

from typing import Any

import pytest

from homeostat.cel import DYN, CompileError, Environment, EvaluationError

ENVIRONMENT = Environment({"x": DYN})

TRUE = r"""
[1, 2, 2].isSorted()
![2, 1].isSorted()
['a', 'b'].isSorted()
[].isSorted()
[1, 3, 2].max() == 3
[1, 3, 2].min() == 1
['b', 'a'].min() == 'a'
[1, 2, 3].sum() == 6
[1.5, 2.5].sum() == 4.0
[1u, 2u].sum() == 3u
[duration('1m'), duration('1s')].sum() == duration('61s')
dyn([1, 2]).sum() == 3
[1, 2, 2].indexOf(2) == 1
[1, 2, 2].lastIndexOf(2) == 2
[1].indexOf(5) == -1
['a', 'b'].indexOf('b') == 1
[1, 2, 3, 4].slice(1, 3) == [2, 3]
[[1], [2, 3]].flatten() == [1, 2, 3]
[[[1]], [[2]]].flatten(2) == [1, 2]
[1, 1, 2].distinct() == [1, 2]
['a', 'a'].distinct() == ['a']
[3, 1, 2].sort() == [1, 2, 3]
[1, 2].reverse() == [2, 1]
lists.range(3) == [0, 1, 2]
'abc 123'.find('[0-9]+') == '123'
'abc'.find('[0-9]+') == ''
'123 abc 456'.findAll('[0-9]+') == ['123', '456']
'123 abc 456'.findAll('[0-9]+', 1) == ['123']
'123 abc 456'.findAll('[0-9]+', 0) == []
'abc'.findAll('[0-9]+') == []
'aXbX'.findAll('(?i)x') == ['X', 'X']
'foobar'.find('o+?') == 'o'
'foobar'.find('o+') == 'oo'
'abab'.find('(?:ab)+') == 'abab'
'ab'.find('a|ab') == 'a'
'ab'.find('ab|a') == 'ab'
'xay'.find('\\ba|y$') == 'y'
'héllo'.find('\\pL+') == 'héllo'
'aaa'.find('a{2}') == 'aa'
'baaac'.findAll('a*') == ['', 'aaa', '']
url('https://user:pass@example.com:80/path?query=val#fragment').getHost() == 'example.com:80'
url('/absolute-path').getScheme() == ''
url('https://example.com:80/').getHostname() == 'example.com'
url('https://[::1]:80/').getHost() == '[::1]:80'
url('https://[::1]:80/').getHostname() == '::1'
url('https://[::1]/').getPort() == ''
url('https://example.com:80/').getPort() == '80'
url('/path').getHost() == ''
url('https://example.com/path with spaces/').getEscapedPath() == '/path%20with%20spaces/'
url('https://example.com').getEscapedPath() == ''
url('https://example.com/a%2Fb').getEscapedPath() == '/a%2Fb'
url('https://example.com/path?k1=a&k2=b&k2=c').getQuery() == {'k1': ['a'], 'k2': ['b', 'c']}
url('https://example.com/?a key=a value').getQuery() == {'a key': ['a value']}
url('https://example.com/path?').getQuery() == {}
url('https://example.com/?a=1+2&b=%41').getQuery() == {'a': ['1 2'], 'b': ['A']}
isURL('https://user:pass@example.com:80/path?query=val#fragment')
isURL('/absolute-path')
isURL('mailto:a@b.c')
!isURL('https://a:b:c/')
!isURL('../relative-path')
!isURL('')
!isURL('http://a b/')
!isURL('http://%zz/')
!isURL(':foo')
!isURL('https://[::1/')
quantity('200M').compareTo(quantity('0.2G')) == 0
quantity('50M').compareTo(quantity('50Mi')) == -1
quantity('50Mi').compareTo(quantity('50M')) == 1
quantity('150Mi').isGreaterThan(quantity('100Mi'))
quantity('50M').isLessThan(quantity('100M'))
quantity('50k').add(quantity('20k')) == quantity('70k')
quantity('50k').add(20) == quantity('50020')
quantity('50k').sub(20000) == quantity('30k')
quantity('50k').add(20).sub(quantity('100k')).sub(-50000) == quantity('20')
quantity('-1').sign() == -1
sign(quantity('0')) == 0
quantity('50k').asInteger() == 50000
quantity('50k').isInteger()
!quantity('1.5').isInteger()
!quantity('9999999999999999999999999999999999999G').isInteger()
quantity('1500m').asApproximateFloat() == 1.5
quantity('1e3') == quantity('1k')
quantity('1E3') == quantity('1k')
quantity('.5') == quantity('500m')
quantity('1.') == quantity('1')
quantity('0.0000000001') == quantity('1n')
isQuantity('1.3G')
isQuantity('1.3Gi')
isQuantity('10000k')
isQuantity('+1')
!isQuantity('1,3G')
!isQuantity('200K')
!isQuantity('Three')
!isQuantity('Mi')
!isQuantity('')
!isQuantity('1 G')
ip('127.0.0.1').family() == 4
ip('::1').family() == 6
isIP('2001:db8::abcd')
!isIP('127.0.0.256')
!isIP('010.0.0.1')
!isIP(':::1')
!isIP('::ffff:1.2.3.4')
!isIP('fe80::1%eth0')
ip.isCanonical('127.0.0.1')
ip.isCanonical('2001:db8::abcd')
!ip.isCanonical('2001:DB8::ABCD')
!ip.isCanonical('2001:db8::0:0:0:abcd')
ip('0.0.0.0').isUnspecified()
ip('::').isUnspecified()
ip('127.3.4.5').isLoopback()
!ip('192.168.0.1').isLoopback()
ip('224.0.0.1').isLinkLocalMulticast()
!ip('224.0.1.1').isLinkLocalMulticast()
ip('ff02::1').isLinkLocalMulticast()
ip('169.254.169.254').isLinkLocalUnicast()
ip('fe80::1').isLinkLocalUnicast()
!ip('fd80::1').isLinkLocalUnicast()
ip('192.168.0.1').isGlobalUnicast()
!ip('255.255.255.255').isGlobalUnicast()
ip('2001:db8::abcd').isGlobalUnicast()
!ip('ff00::1').isGlobalUnicast()
string(ip('::1')) == '::1'
ip('127.0.0.1') == ip('127.0.0.1')
cidr('192.168.0.0/24').containsIP(ip('192.168.0.1'))
!cidr('192.168.0.0/24').containsIP(ip('192.168.1.1'))
cidr('192.168.0.0/24').containsIP('192.168.0.1')
!cidr('192.168.0.0/24').containsIP('::1')
cidr('192.168.0.0/16').containsCIDR(cidr('192.168.10.0/24'))
cidr('192.168.0.0/16').containsCIDR('192.168.10.0/24')
!cidr('192.168.1.0/24').containsCIDR('192.168.2.0/24')
!cidr('192.168.0.0/24').containsCIDR('192.168.0.0/16')
cidr('192.168.0.1/24').ip() == ip('192.168.0.1')
cidr('192.168.0.1/24').masked() == cidr('192.168.0.0/24')
cidr('192.168.0.1/24') != cidr('192.168.0.1/24').masked()
cidr('::1/128').prefixLength() == 128
string(cidr('10.0.0.0/8')) == '10.0.0.0/8'
isCIDR('192.168.0.0/16')
!isCIDR('192.168.0.0/33')
!isCIDR('::1/129')
!isCIDR('10.0.0.0')
!isCIDR('10.0.0.0/08')
!isCIDR('::ffff:1.2.3.4/24')
!format.dns1123Label().validate('my-label-name').hasValue()
format.dns1123Label().validate('Not_A_Label').hasValue()
format.dns1123Label().validate('a').orValue([]).size() == 0
!format.dns1123Subdomain().validate('apiextensions.k8s.io').hasValue()
!format.dns1035Label().validate('my-label-name').hasValue()
format.dns1035Label().validate('1a').hasValue()
!format.qualifiedName().validate('apiextensions.k8s.io/v1beta1').hasValue()
format.qualifiedName().validate('a/b/c').hasValue()
format.qualifiedName().validate('/name').value() == ['prefix part must be non-empty']
!format.dns1123LabelPrefix().validate('my-label-prefix-').hasValue()
!format.dns1123SubdomainPrefix().validate('mysubdomain.prefix-').hasValue()
!format.dns1035LabelPrefix().validate('my-label-prefix-').hasValue()
!format.labelValue().validate('').hasValue()
format.labelValue().validate('-a').hasValue()
!format.uri().validate('http://example.com').hasValue()
format.uri().validate('../relative').hasValue()
!format.uuid().validate('123e4567-e89b-12d3-a456-426614174000').hasValue()
format.uuid().validate('x').value() == ['does not match the UUID format']
!format.byte().validate('aGVsbG8=').hasValue()
format.byte().validate('aGVsbG8').value() == ['invalid base64']
!format.date().validate('2021-01-01').hasValue()
format.date().validate('2021-13-01').value() == ['invalid date']
!format.datetime().validate('2021-01-01T00:00:00Z').hasValue()
format.datetime().validate('2021-01-01').value() == ['invalid datetime']
format.named('dns1123Label').hasValue()
!format.named('nothing').hasValue()
format.named('uuid').value().validate('x').hasValue()
isSemver('1.0.0')
isSemver('0.1.0-alpha.1+build.5')
!isSemver('hello')
!isSemver('v1.0')
!isSemver('01.0.0')
!isSemver('1.0.0-01')
!isSemver('1.0.0-')
isSemver('v1.0', true)
isSemver('01.01.01', true)
!isSemver('1.0-rc', true)
semver('1.2.3').major() == 1 && semver('1.2.3').minor() == 2 && semver('1.2.3').patch() == 3
semver('1.2.3').compareTo(semver('1.2.3')) == 0
semver('1.2.3').compareTo(semver('2.0.0')) == -1
semver('1.2.3').isGreaterThan(semver('1.2.3-rc.1'))
semver('1.0.0-alpha').isLessThan(semver('1.0.0-alpha.1'))
semver('1.0.0-alpha.1').isLessThan(semver('1.0.0-alpha.beta'))
semver('1.0.0-rc.2').isLessThan(semver('1.0.0-rc.11'))
semver('v1', true) == semver('1.0.0')
sets.contains([1, 2, 3], [2, 3])
!sets.contains([1], [2])
sets.contains([], [])
sets.equivalent([1, 2, 2], [2, 1])
!sets.equivalent([1], [1, 2])
sets.intersects([1, 2], [2, 3])
!sets.intersects([1], [])
[1, 2, 3].all(i, v, v > i)
[1, 2, 3].exists(i, v, i == 2 && v == 3)
[1, 2, 2].existsOne(i, v, v == 2 && i == 1)
{'a': 1}.all(k, v, k == 'a' && v == 1)
[0, 3].exists(i, v, 6 / v == 2)
[1, 2, 3].transformList(i, v, i * v) == [0, 2, 6]
[1, 2, 3].transformList(i, v, i > 0, v) == [2, 3]
{'a': 1, 'b': 2}.transformList(k, v, v) == [1, 2]
{'a': 1}.transformMap(k, v, v + 1) == {'a': 2}
{'a': 1, 'b': 2}.transformMap(k, v, v > 1, v) == {'b': 2}
['x', 'y'].transformMap(i, v, v) == {0: 'x', 1: 'y'}
{'a': 'b'}.transformMapEntry(k, v, {v: k}) == {'b': 'a'}
1 < 2.5 && 2.5 < 3 && 1u < 2 && 2 >= 1u && 1.5 <= 2u
type(quantity('1')) == kubernetes.Quantity
type(ip('::1')) == net.IP
duration('1.5s').getMilliseconds() == 1500
timestamp('2020-01-01T00:00:00.123456789Z') != timestamp('2020-01-01T00:00:00.123456788Z')
string(timestamp('2020-01-01T00:00:00.123456789Z')) == '2020-01-01T00:00:00.123456789Z'
string(duration('1.5s')) == '1.5s'
string(1e6) == '1e+06' && string(123456789.0) == '1.23456789e+08'
"""

NO_VALUE = r"""
[].max()
[].min()
[1, 2].slice(2, 1)
[1, 2].slice(0, 3)
[9223372036854775807, 1].sum()
dyn(['a']).sum()
[dyn(1), 'a'].max()
url('../relative-path')
url('https://a:b:c/')
quantity('200K')
quantity('9999999999999999999999999999999999999G').asInteger()
quantity('1.5').asInteger()
ip('127.0.0.256')
cidr('192.168.0.0/33')
cidr('10.0.0.0/8').containsIP('nonsense')
ip.isCanonical('nonsense')
semver('hello')
semver('1.0')
'a'.find(string(x))
{'a': 1, 'b': 1}.transformMapEntry(k, v, {v: k})
lists.range(-1)
'a'.matches(x)
"""


def lines(table: str) -> list[str]:
    return [line for line in table.splitlines() if line]


@pytest.mark.parametrize("text", lines(TRUE))
def test_a_function_of_kubernetes_does_what_it_documents(text: str) -> None:
    assert ENVIRONMENT.compile(text).evaluate({"x": "("}) is True


@pytest.mark.parametrize("text", lines(NO_VALUE))
def test_a_function_refuses_what_it_cannot_do(text: str) -> None:
    program = ENVIRONMENT.compile(text)
    with pytest.raises(EvaluationError):
        program.evaluate({"x": "("})


@pytest.mark.parametrize("text", ["quantity(1)", "quantity('1') > quantity('2')", "ip('::1').unknown()", "[{}].sum()"])
def test_a_function_refuses_types_that_it_does_not_take(text: str) -> None:
    with pytest.raises(CompileError):
        ENVIRONMENT.compile(text)


def test_a_complaint_of_a_format_has_the_words_of_kubernetes() -> None:
    found: Any = ENVIRONMENT.compile("format.dns1123Label().validate(x).value()").evaluate({"x": "A" * 64})
    assert found[0] == "must be no more than 63 characters"
    assert found[1] == (
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end"
        " with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is"
        " '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
    )
