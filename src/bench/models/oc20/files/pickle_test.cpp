#include "bench/models/oc20/files/pickle_for_tests.h"
#include "bench/models/oc20/files/structure_pickle.h"
#include "bench/models/oc20/files/tensor_pickle.h"
#include "bench/models/oc20/generator.h"

#include <cmath>

#include <gmock/gmock.h>

namespace belay::bench::oc20 {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string problem_of(std::string_view pickle) {
    auto read = Pickle::read(pickle);
    return read ? "none" : read.error().message();
}

// pickle.dumps({"a": [1, -2, 3.5, (True, None)], "b": b"xy"}, protocol=4) of Python 3.11.
constexpr std::string_view kProtocol4(
    "\x80\x04\x95*\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\x01"
    "a\x94]\x94(K\x01J\xfe\xff\xff\xffG@\x0c\x00\x00\x00\x00\x00\x00\x88N\x86\x94"
    "e\x8c\x01"
    "b\x94"
    "C\x02xy\x94u.",
    53);

TEST(bench_oc20_pickle, reads_what_python_writes) {
    auto pickle = Pickle::read(kProtocol4);
    ASSERT_TRUE(pickle) << pickle.error().message();
    EXPECT_EQ(pickle->length(), kProtocol4.size());
    const auto list = pickle->find(pickle->root(), "a").value();
    ASSERT_EQ(pickle->parts(list).size(), 4u);
    EXPECT_EQ(pickle->integer(pickle->parts(list)[1]), -2);
    EXPECT_EQ(pickle->real(pickle->parts(list)[2]), 3.5);
    const auto tuple = pickle->parts(list)[3];
    EXPECT_EQ(pickle->kind(tuple), Pickle::Kind::kTuple);
    EXPECT_EQ(pickle->kind(pickle->parts(tuple)[0]), Pickle::Kind::kBool);
    EXPECT_EQ(pickle->text(pickle->find(pickle->root(), "b").value()), "xy");
    EXPECT_FALSE(pickle->find(pickle->root(), "c"));
}

TEST(bench_oc20_pickle, keeps_calls_as_what_they_are_and_makes_none) {
    const std::string text = pickle_of(global_opcode("os", "system") + text_opcode("touch x") + "\x85R");
    auto pickle = Pickle::read(text);
    ASSERT_TRUE(pickle);
    ASSERT_EQ(pickle->kind(pickle->root()), Pickle::Kind::kCall);
    EXPECT_TRUE(pickle->is_name(pickle->parts(pickle->root())[0], "os", "system"));
    EXPECT_THAT(structure_from_pickle(pickle_of(global_opcode("os", "system") + ")R")).error().message(),
                HasSubstr("not a torch_geometric.data.Data"));
}

TEST(bench_oc20_pickle, says_where_one_is_damaged) {
    EXPECT_THAT(problem_of(""), HasSubstr("not a pickle"));
    EXPECT_THAT(problem_of("hello"), HasSubstr("not a pickle"));
    EXPECT_THAT(problem_of("\x80\x07N."), HasSubstr("protocol 7"));
    for (size_t length = 2; length < kProtocol4.size(); ++length)
        EXPECT_THAT(problem_of(kProtocol4.substr(0, length)), HasSubstr("cut off")) << length;
    EXPECT_THAT(problem_of(pickle_of("i")), HasSubstr("at byte 2: the opcode 0x69"));
    EXPECT_THAT(problem_of(pickle_of("R")), HasSubstr("not there"));
    EXPECT_THAT(problem_of(pickle_of("(NR")), HasSubstr("not there")) << "a mark lies between";
    EXPECT_THAT(problem_of(pickle_of("t")), HasSubstr("mark that is not there"));
    EXPECT_THAT(problem_of(pickle_of("NN")), HasSubstr("amid a value"));
    EXPECT_THAT(problem_of(pickle_of("h\x05")), HasSubstr("did not remember"));
    EXPECT_THAT(problem_of(pickle_of("Nq")), HasSubstr("damaged"));
    EXPECT_THAT(problem_of(pickle_of("}(Nu")), HasSubstr("a key has no value"));
    EXPECT_THAT(problem_of(pickle_of("NNa")), HasSubstr("cannot take this"));
    EXPECT_THAT(problem_of(pickle_of("B\xff\xff\xff\xff")), HasSubstr("cut off"));
}

TEST(bench_oc20_pickle, of_too_many_opcodes_nothing_is_read) {
    const std::string most = "(" + std::string(kMaximumPickleSteps - 4, 'N') + "t";
    EXPECT_EQ(problem_of(pickle_of(most)), "none");
    for (char opcode : {'N', '(', ')', '\x94'})
        EXPECT_THAT(problem_of(pickle_of("N" + std::string(kMaximumPickleSteps, opcode))),
                    HasSubstr("more than 131072 opcodes"));
}

TEST(bench_oc20_pickle, tensors_have_their_shape_and_order) {
    const std::string text = pickle_of(tensor_opcodes<float>("FloatStorage", {1, 2, 3, 4, 5, 6}, {2, 3}));
    auto pickle = Pickle::read(text);
    ASSERT_TRUE(pickle) << pickle.error().message();
    auto tensor = tensor_from_pickle(*pickle, pickle->root(), 6);
    ASSERT_TRUE(tensor) << tensor.error().message();
    EXPECT_THAT(tensor->shape, ElementsAre(2, 3));
    EXPECT_THAT(tensor->values, ElementsAre(1, 2, 3, 4, 5, 6));
    EXPECT_THAT(tensor_from_pickle(*pickle, pickle->root(), 5).error().message(),
                HasSubstr("more than 5 values"));
}

// The same storage with other lengths and strides.
std::string strided_tensor(int offset, const std::string& shape, const std::string& strides) {
    const std::string storage = saved_storage_bytes<double>("DoubleStorage", {1, 2, 3, 4, 5, 6});
    return pickle_of(global_opcode("torch._utils", "_rebuild_tensor_v2") + "(" +
                     global_opcode("torch.storage", "_load_from_bytes") + "B" +
                     raw(static_cast<uint32_t>(storage.size())) + storage + "\x85R" + integer_opcode(offset) +
                     shape + strides + "\x89NtR");
}

TEST(bench_oc20_pickle, tensors_may_be_transposed_but_stay_in_their_storage) {
    auto read = [](const std::string& text) {
        auto pickle = Pickle::read(text);
        return tensor_from_pickle(*pickle, pickle->root(), 100);
    };
    EXPECT_THAT(read(strided_tensor(0, "K\x03K\x02\x86", "K\x01K\x03\x86"))->values,
                ElementsAre(1, 4, 2, 5, 3, 6));
    EXPECT_THAT(read(strided_tensor(4, "K\x02\x85", "K\x01\x85"))->values, ElementsAre(5, 6));
    EXPECT_THAT(read(strided_tensor(0, ")", ")"))->values, ElementsAre(1));
    for (const std::string& wrong :
         {strided_tensor(5, "K\x02\x85", "K\x01\x85"), strided_tensor(0, "K\x02\x85", "K\x06\x85"),
          strided_tensor(6, ")", ")"), strided_tensor(0, "K\x02\x85", "J\xff\xff\xff\x7f\x85")})
        EXPECT_THAT(read(wrong).error().message(), HasSubstr("beyond its storage"));
    EXPECT_THAT(read(strided_tensor(-1, ")", ")")).error().message(), HasSubstr("offset"));
    EXPECT_THAT(read(strided_tensor(0, "K\x02\x85", ")")).error().message(),
                HasSubstr("1 lengths and 0 strides"));
}

Structure rounded(Structure structure) {
    auto round = [](Vector& vector) {
        for (double& value : vector) value = double{static_cast<float>(value)};
    };
    for (Vector& side : structure.cell) round(side);
    for (Vector& position : structure.positions) round(position);
    for (Vector& force : structure.forces) round(force);
    return structure;
}

TEST(bench_oc20_pickle, structures_of_both_versions_are_read) {
    const Structure structure = rounded(make_structure(*size_named("mini"), 1, Split::kTrain, 0));
    const Attributes attributes = attributes_of_structure(structure);
    for (const std::string& pickle : {data_pickle(attributes), data_pickle_of_version_2(attributes)}) {
        auto read = structure_from_pickle(pickle);
        ASSERT_TRUE(read) << read.error().message();
        EXPECT_EQ(*read, structure);
    }
    EXPECT_EQ(integer_from_pickle(pickle_of("M\x10\x27")).value(), 10000);
    EXPECT_FALSE(integer_from_pickle(pickle_of("N")));
}

TEST(bench_oc20_pickle, structures_say_what_is_missing_or_wrong) {
    const Attributes good = attributes_of_structure(make_structure(*size_named("mini"), 1, Split::kTrain, 0));
    auto problem_with = [&](const std::string& name, const std::string& value) {
        Attributes attributes = good;
        for (auto& attribute : attributes)
            if (attribute.first == name) attribute.second = value;
        return structure_from_pickle(data_pickle(attributes)).error().message();
    };
    for (const char* name : {"pos", "cell", "atomic_numbers", "force", "fixed"})
        EXPECT_THAT(problem_with(name, "N"), HasSubstr(std::string(name) + ": it is not a tensor"));
    EXPECT_THAT(problem_with("y", "N"), HasSubstr("y: it is not a number"));
    EXPECT_THAT(problem_with("atomic_numbers", tensor_opcodes<float>("FloatStorage", {6.5F}, {1})),
                HasSubstr("6.5 is not a number from 0 to 255"));
    EXPECT_THAT(problem_with("pos", tensor_opcodes<float>("FloatStorage", {1, 2}, {2})),
                HasSubstr("three values"));
    EXPECT_THAT(problem_with("pos", tensor_opcodes<int16_t>("HalfStorage", {1, 2, 3}, {3})),
                HasSubstr("torch.HalfStorage"));
    Attributes without = good;
    without.erase(without.begin() + 6);
    EXPECT_THAT(structure_from_pickle(data_pickle(without)).error().message(), HasSubstr("no \"force\""));
}

}  // namespace
}  // namespace belay::bench::oc20
